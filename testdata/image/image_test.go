package main

import (
	"archive/tar"
	"io"
	"log"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// buildClone builds the image of the last commit in a new directory.
func buildClone(t *testing.T, root string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	clone, out := filepath.Join(dir, "fleetc"), filepath.Join(dir, "image")
	if text, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", root, clone).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Chdir(clone)
	o := options{out: out, platforms: "linux/" + runtime.GOARCH}
	if err := o.run(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// only returns the only manifest of an index.
func only(t *testing.T, index v1.ImageIndex) v1.Descriptor {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("there are %d manifests", len(manifest.Manifests))
	}
	return manifest.Manifests[0]
}

// Two builds of a commit in different directories have the same digest. The image has
// fleetc and root certificates, and no shell; its user is not root.
func TestImage(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	first, second := buildClone(t, root), buildClone(t, root)
	if a, b := only(t, first), only(t, second); a.Digest != b.Digest {
		t.Errorf("the digests are %s and %s", a.Digest, b.Digest)
	}
	index, err := second.ImageIndex(only(t, second).Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	head, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"source": "https://github.com/fleetc/fleetc", "revision": strings.TrimSpace(string(head)), "licenses": "Apache-2.0",
	} {
		if got := manifest.Annotations["org.opencontainers.image."+name]; got != want {
			t.Errorf("the annotation %s is %q, not %q", name, got, want)
		}
	}
	for _, name := range []string{"version", "created"} {
		if manifest.Annotations["org.opencontainers.image."+name] == "" {
			t.Errorf("there is no annotation %s", name)
		}
	}
	image, err := index.Image(only(t, index).Digest)
	if err != nil {
		t.Fatal(err)
	}
	checkImage(t, image)
}

// checkImage checks the content of the image.
func checkImage(t *testing.T, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Architecture != runtime.GOARCH || config.OS != "linux" {
		t.Errorf("the configuration is %+v", config)
	}
	files := mutate.Extract(image)
	defer files.Close()
	var names []string
	var size int64
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		size += h.Size
		if h.Typeflag == tar.TypeReg {
			names = append(names, h.Name)
		}
	}
	slices.Sort(names)
	if want := []string{"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/local/bin/fleetc"}; !slices.Equal(names, want) {
		t.Errorf("the files are %q", names)
	}
	if size > 100e6 {
		t.Errorf("the image has %d bytes", size)
	}
}

// -push pushes the index with its images.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	index, err := random.Index(1024, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	o := options{push: strings.TrimPrefix(server.URL, "http://") + "/fleetc:v1"}
	if err := o.pushImage(t.Context(), index, t.Output()); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(o.push)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Index(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range want.Manifests {
		image, err := got.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := uncompressed(image); err != nil {
			t.Error(err)
		}
	}
}
