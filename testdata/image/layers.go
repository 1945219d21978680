package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	versionAnnotation = "org.opencontainers.image.version"

	user    = 65532
	home    = "/home/nonroot"
	path    = "/usr/local/bin:/usr/bin:/bin"
	command = "/usr/local/bin/fleetc"
	workDir = "/fleet"
	users   = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:" + home + ":/sbin/nologin\n"
	groups  = "root:x:0:\nnonroot:x:65532:\n"
)

// annotations returns what registries and tools show about the image.
func (p *program) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "fleetc",
		"org.opencontainers.image.source":   p.source,
		"org.opencontainers.image.revision": p.revision,
		versionAnnotation:                   p.version,
		"org.opencontainers.image.created":  p.time.UTC().Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

// image returns the image for the platform of the program.
func (p *program) image() (v1.Image, error) {
	base, err := layer(func(t *archive) error { return t.base() })
	if err != nil {
		return nil, err
	}
	binary, err := layer(func(t *archive) error { return t.program(p) })
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.History{Created: v1.Time{Time: p.time}, CreatedBy: "testdata/image"}
	image, err = mutate.Append(image, mutate.Addendum{Layer: base, History: created}, mutate.Addendum{Layer: binary, History: created})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant, config.Created = p.platform.OS, p.platform.Architecture, p.platform.Variant, created.Created
	config.Config = v1.Config{
		User: "65532:65532", WorkingDir: workDir, Entrypoint: []string{command}, Env: []string{"PATH=" + path, "HOME=" + home, "XDG_CACHE_HOME=/tmp/cache"},
		Labels: p.annotations(),
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, p.annotations()).(v1.Image), nil
}

// layer returns a layer with the files that write adds.
func layer(write func(*archive) error) (v1.Layer, error) {
	var data bytes.Buffer
	t := &archive{tar.NewWriter(&data)}
	if err := write(t); err != nil {
		return nil, err
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
}

// An archive is the tar file of a layer. Its bytes depend on its files only.
type archive struct{ *tar.Writer }

// base adds the files that do not depend on fleetc.
func (t *archive) base() error {
	for _, d := range []struct {
		name  string
		mode  int64
		owner int
	}{
		{"etc/", 0o755, 0},
		{"etc/ssl/", 0o755, 0},
		{"etc/ssl/certs/", 0o755, 0},
		{"fleet/", 0o755, 0},
		{"home/", 0o755, 0},
		{"home/nonroot/", 0o755, user}, // other users may run the image, too
		{"tmp/", 0o1777, 0},
	} {
		if err := t.WriteHeader(&tar.Header{Name: d.name, Mode: d.mode, Uid: d.owner, Gid: d.owner, Typeflag: tar.TypeDir, ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
	}
	for _, f := range []struct{ name, text string }{
		{"etc/group", groups}, {"etc/passwd", users}, {"etc/ssl/certs/ca-certificates.crt", certificates()},
	} {
		if err := t.file(f.name, 0o644, time.Unix(0, 0), []byte(f.text)); err != nil {
			return err
		}
	}
	return nil
}

// program adds fleetc.
func (t *archive) program(p *program) error {
	data, err := os.ReadFile(p.file)
	if err != nil {
		return err
	}
	return t.file(command[1:], 0o755, p.time, data)
}

func (t *archive) file(name string, mode int64, changed time.Time, data []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data)), Typeflag: tar.TypeReg, ModTime: changed}); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

// certificates returns the root certificates of Mozilla. A file cannot hold the date
// from which some of them are not trusted, so these are left out.
func certificates() string {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
		}
	}
	return text.String()
}
