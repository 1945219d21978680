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
	// indexFormat is the format of bundle.json. The version increases when
	// older readers would misread it.
	indexFormat  = "fleetc.bundle/v1"
	formatPrefix = "fleetc.bundle/"

	maxIndex = 256 << 20 // maximum size of a bundle.json
)

// An Index is the content of bundle.json: the files of a cluster's directory
// and their origin. Equal bundles have equal indexes, byte for byte.
type Index struct {
	Format            string        `json:"format"`            // fleetc.bundle/v1
	Fleet             string        `json:"fleet"`             // module path of the fleet
	Cluster           string        `json:"cluster"`           // ID, and path of the directory
	FleetcVersion     string        `json:"fleetcVersion"`     // version of fleetc that wrote the file
	KubernetesVersion string        `json:"kubernetesVersion"` // Kubernetes version of the cluster
	Digest            string        `json:"digest"`            // digest of the bundle: the version of the cluster
	Layout            string        `json:"layout,omitempty"`  // layout of the files; empty for the plain layout
	Charts            []IndexChart  `json:"charts"`            // rendered charts, sorted by release
	Objects           []IndexObject `json:"objects"`           // in apply order
	Files             []IndexFile   `json:"files,omitempty"`   // additional files of the layout
}

// An IndexChart identifies the chart of a release: by path, by repo, name and
// version, or by git.
type IndexChart struct {
	Release string       `json:"release"`
	Path    string       `json:"path,omitempty"` // below the root of the fleet
	Repo    string       `json:"repo,omitempty"`
	Name    string       `json:"name,omitempty"`
	Version string       `json:"version,omitempty"`
	Git     fleet.GitRef `json:"git,omitzero"`
	Digest  string       `json:"digest"` // digest of the chart's content
}

// An IndexObject is an object with its file.
type IndexObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Release    string `json:"release"`
	Stage      string `json:"stage"`
	Level      int    `json:"level,omitempty"`
	File       string `json:"file"`   // relative to the directory of the cluster
	Digest     string `json:"digest"` // sha256:hex of the file
}

// An IndexFile is an additional file of the layout.
type IndexFile struct {
	File   string `json:"file"`   // relative to the directory of the cluster
	Digest string `json:"digest"` // sha256:hex of the file
}

// newIndex returns the index of the bundle. files are the files of the
// objects.
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
		idx.Charts[i] = IndexChart{
			Release: pin.Release, Path: ref.Path, Repo: ref.Repo, Name: ref.Name, Version: ref.Version, Git: ref.Git, Digest: ref.Digest,
		}
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

// indexContents is the part of an index that every check of a directory needs.
// Decoding all of it takes twice as long.
type indexContents struct {
	Format  string         `json:"format"`
	Fleet   string         `json:"fleet"`
	Cluster string         `json:"cluster"`
	Digest  string         `json:"digest"`
	Layout  fleet.Layout   `json:"layout"`
	Objects []listedObject `json:"objects"`
	Files   []IndexFile    `json:"files"`

	files map[string]string // digests of Objects and Files, and an entry for the index itself
}

type listedObject struct {
	Release string `json:"release"`
	Stage   string `json:"stage"`
	IndexFile
}

// owned returns the files of the directory that an export wrote, with their
// digests; the index itself has an empty digest. The map must not be modified.
func (x *indexContents) owned() map[string]string {
	if x == nil {
		return nil
	}
	return x.files
}

// errForeign is the error for a bundle.json that fleetc did not write.
var errForeign = errors.New("fleetc did not write this file")

// parseIndex parses an index. It does not trust the file: listed files must be
// below its directory. The error is errForeign, or a fault without position.
func parseIndex(data []byte) (*indexContents, error) {
	var x indexContents
	if err := json.Unmarshal(data, &x); err != nil {
		if !bytes.Contains(data, []byte(formatPrefix)) {
			return nil, errForeign
		}
		return nil, &diag.Diag{Code: diag.CodeDamagedExport, Msg: "the file is damaged: " + err.Error(), Cause: err}
	}
	if x.Format != indexFormat {
		if !strings.HasPrefix(x.Format, formatPrefix) {
			return nil, errForeign
		}
		return nil, &diag.Diag{
			Code: diag.CodeOtherVersion,
			Msg:  fmt.Sprintf("the file has the format %q, but this fleetc supports %s", x.Format, indexFormat),
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
		if name != indexFile && !isValidFileName(name) {
			return nil, &diag.Diag{Code: diag.CodeDamagedExport, Msg: fmt.Sprintf("the file is damaged: %q is not a valid file of a bundle", name)}
		}
	}
	x.files[indexFile] = ""
	return &x, nil
}

// FleetOf returns the module path of the fleet in a bundle.json; empty for an invalid file.
func FleetOf(data []byte) string {
	if x, err := parseIndex(data); err == nil {
		return x.Fleet
	}
	return ""
}

// isValidFileName reports whether an export can write a file with the name.
func isValidFileName(name string) bool {
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
	return 2 <= len(parts) && len(parts) <= depth && (strings.HasSuffix(name, extension) || strings.HasSuffix(name, manifestExtension))
}

// An ownedIndex is the index of a directory with its digest; zero for a
// directory without index.
type ownedIndex struct {
	*indexContents
	digest string
}

// readIndex returns the index in the directory. It returns known without
// parsing if the digest is the same. Errors are those of parseIndex, with
// position.
func (s *Session) readIndex(dir string, known ownedIndex) (ownedIndex, error) {
	none := ownedIndex{}
	name := path.Join(dir, indexFile)
	info, err := s.lstat(name)
	if info == nil || err != nil {
		return none, err
	}
	if !info.Mode().IsRegular() {
		return none, &diag.Diag{Code: diag.CodeForeignFile, At: s.at(name), Msg: "expected a file of the bundle, got " + kindOf(info), Hint: hintMove, Cause: errForeign}
	}
	if info.Size() > maxIndex {
		return none, &diag.Diag{Code: diag.CodeForeignFile, At: s.at(name), Msg: "this file is too large for the index of a bundle", Hint: hintMove, Cause: errForeign}
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
		return none, &diag.Diag{Code: diag.CodeForeignFile, At: s.at(name), Msg: "the export would overwrite this file, which fleetc did not write", Hint: hintMove, Cause: err}
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

// readFile reads a regular file. It reads at most one byte more than size.
func (s *Session) readFile(name string, size int64) ([]byte, error) {
	data, err := readInto(make([]byte, size+1), s.root, name)
	return data, s.fileError("read", name, err)
}

// kindOf returns the kind of a file for messages.
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
