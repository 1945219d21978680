package gitops

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/repo"
)

// Publish packages the chart of a directory for the Helm repository at
// URL/charts and for the registry at oci://HOST/charts, and returns the digest
// of the package.
func (s *Servers) Publish(dir string) (digest string, err error) {
	c, err := loader.Load(dir)
	if err != nil {
		return "", err
	}
	file, err := chartutil.Save(c, s.Charts)
	if err != nil {
		return "", err
	}
	index, err := repo.IndexDirectory(s.Charts, "")
	if err != nil {
		return "", err
	}
	if err := index.WriteFile(filepath.Join(s.Charts, "index.yaml"), 0o644); err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(s.Host + "/charts/" + c.Name() + ":" + strings.ReplaceAll(c.Metadata.Version, "+", "_"))
	if err != nil {
		return "", err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), "application/vnd.cncf.helm.config.v1+json")
	image, err = mutate.AppendLayers(image, static.NewLayer(text, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), remote.Write(tag, image)
}
