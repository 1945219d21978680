package oci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/cache"
)

// Media types of results.
const (
	resultType = "application/vnd.fleetc.result.config.v1+json"
	recordType = "application/vnd.fleetc.result.record.v1"
	partType   = "application/vnd.fleetc.result.part.v1"
)

var (
	errInvalid     = errors.New("not a valid result")
	errPartMissing = errors.New("a part is missing")
)

// An upload is a result to push.
type upload struct {
	tag    name.Tag
	record []byte
	parts  []cache.Part
	part   func(fleet.Sum) ([]byte, bool)
}

// push pushes the missing blobs of a result, and then its manifest.
func (c *Cache) push(ctx context.Context, p upload) error {
	config, record := static.NewLayer([]byte("{}"), resultType), static.NewLayer(p.record, recordType)
	layers := []v1.Layer{config, record}
	seen := map[fleet.Sum]bool{}
	for _, one := range p.parts {
		if seen[one.Digest] {
			continue
		}
		seen[one.Digest] = true
		layer, err := partial.CompressedToLayer(partLayer{one, p.part})
		if err != nil {
			return err
		}
		layers = append(layers, layer)
	}
	uploads, uploadCtx := errgroup.WithContext(ctx)
	uploads.SetLimit(maxTransfers)
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	for i, layer := range layers {
		described, err := partial.Descriptor(layer)
		if err != nil {
			return err
		}
		if i == 0 {
			m.Config = *described
		} else {
			m.Layers = append(m.Layers, *described)
		}
		// A running upload continues when another one fails, since other
		// results may wait for the same part.
		uploads.Go(func() error {
			if uploadCtx.Err() != nil {
				return uploadCtx.Err()
			}
			return c.pusher.Upload(ctx, c.repo, layer)
		})
	}
	if err := uploads.Wait(); err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil || len(data) > maxManifest {
		return errors.Join(errPartMissing, err)
	}
	return c.pusher.Put(ctx, p.tag, manifest(data))
}

// pull returns the record of a tag and passes its parts on, see [Cache.Get].
func (c *Cache) pull(ctx context.Context, tag name.Tag, isStored func(fleet.Sum) bool, take func(fleet.Sum, []byte) bool) ([]byte, error) {
	found, err := c.puller.Get(ctx, tag)
	if err != nil {
		return nil, err
	}
	sizes, err := parseManifest(found.Manifest)
	if err != nil {
		return nil, err
	}
	downloads, downloadCtx := errgroup.WithContext(ctx)
	downloads.SetLimit(maxTransfers)
	for _, p := range sizes[1:] {
		downloads.Go(func() error {
			if downloadCtx.Err() != nil { // as in push
				return downloadCtx.Err()
			}
			_, err, _ := c.fetching.Do(p.Digest.String(), func() (any, error) {
				if isStored(p.Digest) {
					return nil, nil
				}
				data, err := c.blob(ctx, p)
				if err == nil && !take(p.Digest, data) {
					err = errInvalid
				}
				return nil, err
			})
			return err
		})
	}
	if err := downloads.Wait(); err != nil {
		return nil, err
	}
	return c.blob(ctx, sizes[0])
}

// parseManifest returns the record and the parts that a manifest lists, the
// record first.
func parseManifest(data []byte) ([]cache.Part, error) {
	if len(data) > maxManifest {
		return nil, errInvalid
	}
	m, err := v1.ParseManifest(bytes.NewReader(data))
	if err != nil || m.Config.MediaType != resultType || len(m.Layers) == 0 || len(m.Layers) > maxParts+1 {
		return nil, errInvalid
	}
	var out []cache.Part
	left := int64(maxAnswer)
	for i, l := range m.Layers {
		want := types.MediaType(partType)
		if i == 0 {
			want = recordType
		}
		digest, err := hex.DecodeString(l.Digest.Hex)
		if left -= l.Size; l.MediaType != want || l.Digest.Algorithm != "sha256" || err != nil || len(digest) != sha256.Size || l.Size < 0 || l.Size > maxPart || left < 0 {
			return nil, errInvalid
		}
		out = append(out, cache.Part{Digest: fleet.Sum(digest), Size: l.Size})
	}
	return out, nil
}

// blob returns a blob of the repository and verifies its digest.
func (c *Cache) blob(ctx context.Context, p cache.Part) ([]byte, error) {
	layer, err := c.puller.Layer(ctx, c.repo.Digest(p.Digest.String()))
	if err != nil {
		return nil, err
	}
	in, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, p.Size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != p.Size || sha256.Sum256(data) != p.Digest {
		return nil, errInvalid
	}
	return data, nil
}

// isMiss reports whether the registry answered, but does not have the result,
// or has something else in its place.
func isMiss(err error) bool {
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return answer.StatusCode == http.StatusNotFound
	}
	_, request := errors.AsType[*url.Error](err)
	_, network := errors.AsType[net.Error](err)
	return !request && !network && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, context.Canceled)
}

// A manifest is the JSON of a manifest as a [remote.Taggable].
type manifest []byte

// RawManifest returns the JSON.
func (m manifest) RawManifest() ([]byte, error) { return m, nil }

// MediaType returns the media type of OCI manifests.
func (m manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// A partLayer is a part as a layer. Its content is read during the upload.
type partLayer struct {
	cache.Part
	read func(fleet.Sum) ([]byte, bool)
}

// Digest returns the digest of the part.
func (l partLayer) Digest() (v1.Hash, error) { return v1.NewHash(l.Part.Digest.String()) }

// Size returns the size of the part.
func (l partLayer) Size() (int64, error) { return l.Part.Size, nil }

// MediaType returns the media type of parts.
func (l partLayer) MediaType() (types.MediaType, error) { return partType, nil }

// Compressed returns the content of the part, which is not compressed.
func (l partLayer) Compressed() (io.ReadCloser, error) {
	data, ok := l.read(l.Part.Digest)
	if !ok {
		return nil, fmt.Errorf("%s: %w", l.Part.Digest, errPartMissing)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}
