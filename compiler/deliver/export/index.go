package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	// indexFormat is the format of bundle.json. The word after the slash counts
	// up when a reader of the one before would get it wrong.
	indexFormat  = "fleetc.bundle/v1"
	formatPrefix = "fleetc.bundle/"

	maxIndex = 256 << 20 // bytes of a bundle.json that is read
)

// An Index is the content of bundle.json: what a cluster's directory holds and
// where it comes from. Equal bundles have equal indexes, byte for byte.
type Index struct {
	Format            string        `json:"format"`            // fleetc.bundle/v1
	Fleet             string        `json:"fleet"`             // path of the fleet's module
	Cluster           string        `json:"cluster"`           // ID, which is the path of the directory
	FleetcVersion     string        `json:"fleetcVersion"`     // of the tool that wrote it
	KubernetesVersion string        `json:"kubernetesVersion"` // that the bundle was rendered for
	Digest            string        `json:"digest"`            // of the bundle: the version of the whole cluster
	Layout            string        `json:"layout,omitempty"`  // for whom the files are; empty for the plain one
	Charts            []IndexChart  `json:"charts"`            // what was rendered, sorted by release
	Objects           []IndexObject `json:"objects"`           // in the order in which they apply
	Files             []IndexFile   `json:"files,omitempty"`   // of the layout, which hold no objects of the bundle
}

// An IndexChart says which chart a release was rendered from: by path, by
// repo, name and version, or from git.
type IndexChart struct {
	Release string    `json:"release"`
	Path    string    `json:"path,omitempty"` // below the root of the fleet
	Repo    string    `json:"repo,omitempty"`
	Name    string    `json:"name,omitempty"`
	Version string    `json:"version,omitempty"`
	Git     *IndexGit `json:"git,omitempty"`
	Digest  string    `json:"digest"` // of the chart's content
}

// An IndexGit is a directory of a git repository.
type IndexGit struct {
	URL  string `json:"url"`
	Ref  string `json:"ref"`
	Path string `json:"path,omitempty"`
}

// An IndexObject is one object and the file that holds it.
type IndexObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Release    string `json:"release"`
	Stage      string `json:"stage"`
	Level      int    `json:"level,omitempty"`
	File       string `json:"file"`   // below the directory of the cluster
	Digest     string `json:"digest"` // sha256:hex of the file
}

// An IndexFile is a file that belongs to the layout.
type IndexFile struct {
	File   string `json:"file"`   // below the directory of the cluster
	Digest string `json:"digest"` // sha256:hex of the file
}

// newIndex returns the index of the bundle with the given file of each object.
func (t *Tree) newIndex(b *fleet.Bundle, files []string) *Index {
	idx := &Index{
		Format: indexFormat, Fleet: t.Fleet, Cluster: b.Cluster.ID,
		FleetcVersion: t.Version, KubernetesVersion: b.Cluster.KubeVersion, Digest: b.Digest,
		Charts: make([]IndexChart, len(b.Charts)), Objects: make([]IndexObject, len(b.Objects)),
	}
	if b.Layout != fleet.PlainLayout {
		idx.Layout = string(b.Layout)
	}
	for _, f := range b.Files {
		idx.Files = append(idx.Files, IndexFile{File: f.Name, Digest: digestOf(f.Data)})
	}
	for i, pin := range b.Charts {
		ref := pin.Chart
		c := IndexChart{
			Release: pin.Release, Path: ref.Path, Repo: ref.Repo, Name: ref.Name, Version: ref.Version, Digest: ref.Digest,
		}
		if ref.Git.URL != "" {
			c.Git = &IndexGit{URL: ref.Git.URL, Ref: ref.Git.Ref, Path: ref.Git.Path}
		}
		idx.Charts[i] = c
	}
	for i, o := range b.Objects {
		idx.Objects[i] = IndexObject{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
			Release: o.Release.Name, Stage: o.Release.Stage, Level: o.Release.Level, File: files[i], Digest: b.Sum(i).String(),
		}
	}
	return idx
}

// encode returns the text of bundle.json.
func (x *Index) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(x); err != nil {
		return nil, fmt.Errorf("encode %s of %s: %w", indexFile, x.Cluster, err)
	}
	return b.Bytes(), nil
}

// contents are what is read of an index whenever its directory is looked at:
// decoding all of it would take twice as long.
type contents struct {
	Format  string         `json:"format"`
	Fleet   string         `json:"fleet"`
	Cluster string         `json:"cluster"`
	Objects []listedObject `json:"objects"`
	Files   []IndexFile    `json:"files"`

	files map[string]string // of Objects and Files, with their digests; and the index itself
}

type listedObject struct {
	Release string `json:"release"`
	Stage   string `json:"stage"`
	IndexFile
}

// owned returns the files of the directory that an export wrote, with their
// digests; the index itself, whose digest it does not know, with an empty one. The
// map is not the caller's.
func (x *contents) owned() map[string]string {
	if x == nil {
		return nil
	}
	return x.files
}

// errForeign is that of a bundle.json that no fleetc wrote.
var errForeign = errors.New("fleetc did not write this file")

// parseIndex returns what the index in data lists. It trusts nothing: whatever wrote the
// file, the files that it lists are below its directory. The error is
// errForeign, or a fault without a place.
func parseIndex(data []byte) (*contents, error) {
	var x contents
	if err := json.Unmarshal(data, &x); err != nil {
		if !bytes.Contains(data, []byte(formatPrefix)) {
			return nil, errForeign
		}
		return nil, &diag.Diag{Msg: "the file is damaged: " + err.Error(), Cause: err}
	}
	if x.Format != indexFormat {
		if !strings.HasPrefix(x.Format, formatPrefix) {
			return nil, errForeign
		}
		return nil, &diag.Diag{
			Msg:  fmt.Sprintf("the file has the format %q, and this fleetc knows %s", x.Format, indexFormat),
			Hint: "run the version of fleetc that wrote it",
		}
	}
	x.files = make(map[string]string, len(x.Objects)+len(x.Files)+1)
	for _, o := range x.Objects {
		x.files[o.File] = o.Digest
	}
	for _, f := range x.Files {
		x.files[f.File] = f.Digest
	}
	for name := range x.files {
		if name != indexFile && !ownable(name) {
			return nil, &diag.Diag{Msg: fmt.Sprintf("the file is damaged: %q is no file of a bundle", name)}
		}
	}
	x.files[indexFile] = ""
	return &x, nil
}

// ownable reports whether an export could have written a file of that name.
func ownable(name string) bool {
	const depth = 4 // stages/apps/web/service-web.yaml
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if part == "" || part[0] == '.' || strings.Contains(part, "..") || len(part) > maxName {
			return false
		}
		for i := range len(part) {
			if c := part[i]; c != '_' && c != '-' && c != '.' && (c < 'a' || 'z' < c) && (c < '0' || '9' < c) {
				return false
			}
		}
	}
	return 2 <= len(parts) && len(parts) <= depth && strings.HasSuffix(name, extension)
}

// An ownedIndex is the index of a directory, with its digest; the zero value is
// that of a directory without one.
type ownedIndex struct {
	*contents
	digest string
}

// readIndex returns the index in the directory. When that is the known one, it is not
// parsed again. The errors are those of parseIndex, with the place.
func (s *Session) readIndex(dir string, known ownedIndex) (ownedIndex, error) {
	none := ownedIndex{}
	name := path.Join(dir, indexFile)
	info, err := s.lstat(name)
	if info == nil || err != nil {
		return none, err
	}
	if !info.Mode().IsRegular() {
		return none, &diag.Diag{At: s.at(name), Msg: "this is " + kindOf(info) + " in the place of a file of the bundle", Hint: hintMove, Cause: errForeign}
	}
	if info.Size() > maxIndex {
		return none, &diag.Diag{At: s.at(name), Msg: "this file is too large for the index of a bundle", Hint: hintMove, Cause: errForeign}
	}
	data, err := s.readFile(name, info.Size())
	if err != nil {
		return none, err
	}
	digest := digestOf(data)
	if digest == known.digest {
		return known, nil
	}
	idx, err := parseIndex(data)
	if errors.Is(err, errForeign) {
		return none, &diag.Diag{At: s.at(name), Msg: "fleetc did not write this file, and the bundle needs its place", Hint: hintMove, Cause: err}
	}
	if d, ok := errors.AsType[*diag.Diag](err); ok {
		d.At = s.at(name)
		if d.Hint == "" {
			d.Hint = "restore it from version control, or remove the directory, then run fleetc export again"
		}
		return none, d
	}
	return ownedIndex{idx, digest}, nil
}

// readFile reads a regular file of the given size, or one byte more of a
// larger one.
func (s *Session) readFile(name string, size int64) ([]byte, error) {
	data, err := readInto(make([]byte, size+1), s.root, name)
	return data, s.failed("read", name, err)
}

// kindOf names what is in the place of a file or directory.
func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}
