package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"
)

// pullImage pulls an artifact as any registry client does.
func pullImage(ts *testscript.TestScript, ref string) v1.Image {
	parsed, err := name.ParseReference(ref)
	ts.Check(err)
	image, err := remote.Image(parsed)
	ts.Check(err)
	return image
}

// cmdPull unpacks the only layer of an artifact into a new directory: pull REF
// DIR.
func cmdPull(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pull REF DIR")
	}
	layers, err := pullImage(ts, args[0]).Layers()
	ts.Check(err)
	if len(layers) != 1 {
		ts.Fatalf("%s has %d layers", args[0], len(layers))
	}
	content, err := layers[0].Uncompressed()
	ts.Check(err)
	dir := ts.MkAbs(args[1])
	in := tar.NewReader(content)
	for {
		hd, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		ts.Check(err)
		if hd.Mode != 0o644 || hd.ModTime.Unix() != 0 || hd.Uid+hd.Gid != 0 || hd.Uname+hd.Gname != "" {
			ts.Fatalf("%s is of somebody, or of some time: %+v", hd.Name, hd)
		}
		file := filepath.Join(dir, filepath.FromSlash(hd.Name))
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
		data, err := io.ReadAll(in)
		ts.Check(err)
		ts.Check(os.WriteFile(file, data, 0o644))
	}
}

// cmdAnnotations prints the annotations of an artifact: annotations REF.
func cmdAnnotations(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: annotations REF")
	}
	manifest, err := pullImage(ts, args[0]).Manifest()
	ts.Check(err)
	for _, key := range slices.Sorted(maps.Keys(manifest.Annotations)) {
		_, err := fmt.Fprintf(ts.Stdout(), "%s=%s\n", key, manifest.Annotations[key])
		ts.Check(err)
	}
}
