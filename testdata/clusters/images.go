package clusters

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// An Image is a container image that exists on real nodes: busybox with all of its
// commands, and other files, or an image that exists already.
type Image struct {
	Name    string            // with a tag
	Files   map[string]string // files of the machine by their path in the image
	Links   map[string]string // targets of symbolic links by their path in the image
	Command []string
	Layout  string // directory of an OCI layout with the image; then there are no files and no command

	// Entrypoint comes before the arguments of a container.
	Entrypoint []string
	// User is the number of the user that runs containers; root if it is empty.
	User string
}

// Busybox is the image that every real node has.
const Busybox = "fleetc.test/busybox:1"

var nodeImages = []Image{
	{Name: "fleetc.test/pause:1", Command: []string{"/bin/sh", "-c", "trap exit TERM; while :; do sleep 3600 & wait; done"}},
	{Name: Busybox, Command: []string{"/bin/sh"}},
}

// writeImages writes the images of a node as tar files of OCI layouts.
func writeImages(dir string, more []Image) error {
	base, err := busyboxFiles()
	if err != nil {
		return err
	}
	for i, image := range slices.Concat(nodeImages, more) {
		write := func() ([]byte, error) { return image.layout(base) }
		if image.Layout != "" {
			write = image.copyLayout
		}
		data, err := write()
		if err != nil {
			return fmt.Errorf("image %s: %w", image.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.tar", i)), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// A tarball writes files without owners and times.
type tarball struct {
	bytes.Buffer
	*tar.Writer
}

func newTarball() *tarball {
	t := &tarball{}
	t.Writer = tar.NewWriter(&t.Buffer)
	return t
}

func (t *tarball) add(name string, mode int64, content []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := t.Writer.Write(content)
	return err
}

// busyboxFiles returns a function that adds busybox and links for its commands.
func busyboxFiles() (func(*tarball) error, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list, err := exec.Command(path, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("busybox --list: %w", err)
	}
	return func(t *tarball) error {
		for _, dir := range []string{"bin/", "tmp/"} {
			if err := t.WriteHeader(&tar.Header{Name: dir, Mode: 0o1777, Typeflag: tar.TypeDir}); err != nil {
				return err
			}
		}
		for _, command := range strings.Fields(string(list)) {
			if command == "busybox" {
				continue
			}
			if err := t.WriteHeader(&tar.Header{Name: "bin/" + command, Linkname: "busybox", Typeflag: tar.TypeSymlink}); err != nil {
				return err
			}
		}
		return t.add("bin/busybox", 0o755, program)
	}, nil
}

// layer returns the only layer of the image.
func (i *Image) layer(base func(*tarball) error) ([]byte, error) {
	t := newTarball()
	if err := base(t); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(i.Files)) {
		content, err := os.ReadFile(i.Files[name])
		if err != nil {
			return nil, err
		}
		if err := t.add(strings.TrimPrefix(name, "/"), 0o755, content); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.Links)) {
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Linkname: i.Links[name], Typeflag: tar.TypeSymlink}
		if err := t.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	err := t.Close()
	return t.Bytes(), err
}

// nameAnnotation has the name under which containerd imports an image.
const nameAnnotation = "io.containerd.image.name"

// copyLayout returns the files of the layout with the name of the image.
func (i *Image) copyLayout() ([]byte, error) {
	t := newTarball()
	err := filepath.WalkDir(i.Layout, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(i.Layout, file)
		if err == nil && name == "index.json" {
			content, err = i.addName(content)
		}
		if err != nil {
			return err
		}
		return t.add(filepath.ToSlash(name), 0o644, content)
	})
	if err == nil {
		err = t.Close()
	}
	return t.Bytes(), err
}

// addName adds the name of the image to the index of a layout.
func (i *Image) addName(index []byte) ([]byte, error) {
	var content struct {
		SchemaVersion int              `json:"schemaVersion"`
		Manifests     []map[string]any `json:"manifests"`
	}
	if err := json.Unmarshal(index, &content); err != nil {
		return nil, err
	}
	if len(content.Manifests) != 1 {
		return nil, fmt.Errorf("%s has %d images", i.Layout, len(content.Manifests))
	}
	content.Manifests[0]["annotations"] = map[string]string{nameAnnotation: i.Name}
	return json.Marshal(content)
}

// layout returns the image as an OCI layout.
func (i *Image) layout(base func(*tarball) error) ([]byte, error) {
	layer, err := i.layer(base)
	if err != nil {
		return nil, err
	}
	t := newTarball()
	blob := func(mediaType string, v any) map[string]any {
		content, isData := v.([]byte)
		if !isData {
			content, _ = json.Marshal(v) // maps of texts
		}
		digest := fmt.Sprintf("%x", sha256.Sum256(content))
		if aerr := t.add("blobs/sha256/"+digest, 0o644, content); aerr != nil {
			err = aerr
		}
		return map[string]any{"mediaType": "application/vnd.oci.image." + mediaType, "digest": "sha256:" + digest, "size": len(content)}
	}
	layerBlob := blob("layer.v1.tar", layer)
	config := blob("config.v1+json", map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": i.Entrypoint, "Cmd": i.Command, "Env": []string{"PATH=/bin"}, "User": i.User},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{layerBlob["digest"]}},
	})
	manifest := blob("manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []any{layerBlob},
	})
	manifest["annotations"] = map[string]any{nameAnnotation: i.Name}
	index, _ := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{manifest}})
	for name, content := range map[string][]byte{"index.json": index, "oci-layout": []byte(`{"imageLayoutVersion": "1.0.0"}`)} {
		if aerr := t.add(name, 0o644, content); aerr != nil {
			err = aerr
		}
	}
	if err == nil {
		err = t.Close()
	}
	return t.Bytes(), err
}
