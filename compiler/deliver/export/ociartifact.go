package export

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

// Media types that Flux's OCIRepository accepts and its own client writes.
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

// Provenance describes the origin of an artifact.
type Provenance struct {
	Fleet   string // path of the fleet's module
	Cluster string // ID
	Digest  string // of the bundle

	// Source is the repository of the fleet, Revision its commit. Both may be
	// empty. An artifact is not pushed again when only these differ, so that
	// they name the commit that last changed it.
	Source, Revision string
}

func (p Provenance) annotations() map[string]string {
	all := map[string]string{fleetKey: p.Fleet, clusterKey: p.Cluster, digestKey: p.Digest, sourceKey: p.Source, revisionKey: p.Revision}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// An Artifact holds the manifests of a cluster as an OCI image. Its layer is in
// a file.
type Artifact struct {
	Provenance
	image v1.Image
}

// PackArtifact makes an artifact of files, which have slash-separated names. It writes
// the layer to the new file into, which must exist as long as the artifact is
// in use.
func PackArtifact(files map[string][]byte, p Provenance, into string) (*Artifact, error) {
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

// writeLayer writes a reproducible gzipped tar file, with sorted names and
// without times or owners. Digests depend on its bytes.
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
