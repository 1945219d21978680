package chart

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// sourceKey is the annotation or label with the address of the source of an image.
const sourceKey = "org.opencontainers.image.source"

// maxConfig is the maximum size of a config that is read, in bytes.
const maxConfig = 1 << 20

// Source returns the address of the source of an image, by an annotation of its manifest or
// a label of its config; empty if it has none. For an image of several architectures, it
// reads the first. The address is untrusted.
func (c *RegistryImages) Source(ctx context.Context, repository, tag string) (string, error) {
	return requestImage(ctx, c, repository, repository+":"+tag, func(ctx context.Context, r *imageRepository) (string, error) {
		var ref name.Reference = r.Tag(tag)
		const depth = 2 // an index and its first image
		for range depth {
			d, err := r.puller.Get(ctx, ref)
			if err != nil {
				return "", err
			}
			var m struct {
				Annotations map[string]string
				Manifests   []struct{ Digest string }
				Config      struct {
					Digest string
					Size   int64
				}
			}
			if err := json.Unmarshal(d.Manifest, &m); err != nil {
				return "", err
			}
			switch at := m.Annotations[sourceKey]; {
			case at != "":
				return at, nil
			case d.MediaType.IsIndex() && len(m.Manifests) > 0:
				ref = r.Repository.Digest(m.Manifests[0].Digest)
				continue
			case m.Config.Size > maxConfig || d.MediaType != types.OCIManifestSchema1 && d.MediaType != types.DockerManifestSchema2:
				return "", nil
			}
			img, err := d.Image()
			if err != nil {
				return "", err
			}
			config, err := img.ConfigFile()
			if err != nil {
				return "", fmt.Errorf("read the config: %w", err)
			}
			return config.Config.Labels[sourceKey], nil
		}
		return "", nil
	})
}
