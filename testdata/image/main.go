// Command image builds the container image of fleetc as an OCI layout, for all
// platforms, and pushes it to a registry if -push names one:
//
//	go run ./testdata/image [-out bin/image] [-platforms linux/amd64,linux/arm64] [-push REGISTRY/REPOSITORY:TAG]
//
// It needs go and git, and no docker: the image has fleetc, the root certificates of
// Mozilla, and nothing else. Two builds of a commit with one version of Go have the
// same digest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	var o options
	flag.StringVar(&o.out, "out", "bin/image", "directory of the OCI layout, which is replaced")
	flag.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "platforms of the image")
	flag.StringVar(&o.push, "push", "", "reference to push the image to, with the credentials of docker login")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options are the command-line options.
type options struct {
	out, platforms, push string
}

// run builds the image, writes it and pushes it.
func (o *options) run(ctx context.Context, progress io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "fleetc-image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var labels map[string]string
	for i, text := range strings.Split(o.platforms, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return err
		}
		p, err := build(ctx, filepath.Join(dir, fmt.Sprint(i)), platform)
		if err != nil {
			return err
		}
		image, err := p.image()
		if err != nil {
			return err
		}
		size, err := uncompressed(image)
		if err != nil {
			return err
		}
		fmt.Fprintf(progress, "%s: %.1f MB uncompressed\n", platform, float64(size)/1e6)
		labels = p.annotations()
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	index = mutate.Annotations(index, labels).(v1.ImageIndex)
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := o.write(index); err != nil {
		return err
	}
	fmt.Fprintf(progress, "%s: %s@%s\n", o.out, labels[versionAnnotation], digest)
	return o.pushImage(ctx, index, progress)
}

// write writes the OCI layout.
func (o *options) write(index v1.ImageIndex) error {
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	path, err := layout.Write(o.out, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index)
}

// pushImage pushes the image, if a reference is given.
func (o *options) pushImage(ctx context.Context, index v1.ImageIndex, progress io.Writer) error {
	if o.push == "" {
		return nil
	}
	ref, err := name.ParseReference(o.push)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	fmt.Fprintln(progress, "pushed", ref.Name())
	return nil
}

// uncompressed returns the size of all layers of an image.
func uncompressed(image v1.Image) (int64, error) {
	layers, err := image.Layers()
	if err != nil {
		return 0, err
	}
	var size int64
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			return 0, err
		}
		n, err := io.Copy(io.Discard, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return 0, err
		}
		size += n
	}
	return size, nil
}
