package oci

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The media types that Flux's OCIRepository takes, and its own client writes.
const (
	configType = "application/vnd.cncf.flux.config.v1+json"
	layerType  = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// Annotations of artifacts.
const (
	fleetKey   = "fleetc.dev/fleet"
	clusterKey = "fleetc.dev/cluster"
	digestKey  = "fleetc.dev/digest"

	sourceKey   = "org.opencontainers.image.source"
	revisionKey = "org.opencontainers.image.revision"
)

// Provenance says where an artifact comes from.
type Provenance struct {
	Fleet   string // path of the fleet's module
	Cluster string // ID
	Digest  string // of the bundle

	// Where the fleet is, and what of it. An artifact that only these would
	// change stays as it is, so that they name what last changed it.
	Source, Revision string // may be empty
}

func (p Provenance) annotations() map[string]string {
	all := map[string]string{fleetKey: p.Fleet, clusterKey: p.Cluster, digestKey: p.Digest, sourceKey: p.Source, revisionKey: p.Revision}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// An Artifact is what a cluster gets. Its content is in a file.
type Artifact struct {
	Provenance
	image v1.Image
}

// Pack makes an artifact of files, given by their slash-separated names. It
// writes its content to a new file of the given path, which has to stay as long
// as the artifact is used.
func Pack(files map[string][]byte, p Provenance, into string) (*Artifact, error) {
	if err := writeLayer(files, into); err != nil {
		return nil, fmt.Errorf("pack the artifact of %s: %w", p.Cluster, err)
	}
	layer, err := tarball.LayerFromFile(into, tarball.WithMediaType(layerType))
	if err != nil {
		return nil, fmt.Errorf("pack the artifact of %s: %w", p.Cluster, err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), configType)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer})
	if err != nil {
		return nil, fmt.Errorf("pack the artifact of %s: %w", p.Cluster, err)
	}
	annotated, ok := mutate.Annotations(image, p.annotations()).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("pack the artifact of %s: no image", p.Cluster)
	}
	return &Artifact{p, annotated}, nil
}

// writeLayer writes a gzipped tar file of one form: names sorted, nothing in it
// but names and contents. Digests rest on its bytes.
func writeLayer(files map[string][]byte, into string) error {
	out, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(out)
	return errors.Join(writeTar(files, zipped), zipped.Close(), out.Close())
}

func writeTar(files map[string][]byte, out io.Writer) error {
	w := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))})
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}
