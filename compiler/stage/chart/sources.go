package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Fetch downloads the remote resources of kustomizations and pins them. It is not
// safe for concurrent use.
type Fetch struct {
	source *Source
	repos  map[string]*gitFiles          // by URL and ref
	files  map[string][]byte             // by URL
	used   map[string]fleet.GitRef       // by address
	charts map[string]fleet.RemoteSource // by address
	close  []func() error
}

// Fetch returns a new Fetch. The caller must close it.
func (s *Source) Fetch() *Fetch {
	return &Fetch{source: s, repos: map[string]*gitFiles{}, files: map[string][]byte{}, used: map[string]fleet.GitRef{}, charts: map[string]fleet.RemoteSource{}}
}

// Close removes temporary downloads that are not in the store.
func (f *Fetch) Close() error {
	return errors.Join(diag.Each(f.close, func(end func() error) error { return end() })...)
}

// Get downloads the files of an address.
func (f *Fetch) Get(ctx context.Context, address string) (*fleet.RemoteFiles, error) {
	git, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	if f.source.Offline {
		return nil, fault(diag.CodeFlagCombination, "run the command again without --offline", "%s: adding a source needs the network", oneLine(address))
	}
	f.used[address] = git
	if git.URL == "" {
		data, ok := f.files[address]
		if !ok {
			if data, err = bounded(ctx, address, func(ctx context.Context) ([]byte, error) { return f.source.getFile(ctx, address) }); err != nil {
				return nil, err
			}
			f.files[address] = data
		}
		return remoteFilesOf(fleet.RemoteSource{Address: address, Digest: digest(data)}, map[string][]byte{path.Base(address): data}), nil
	}
	files, err := f.repo(ctx, git)
	if err != nil {
		return nil, err
	}
	return &fleet.RemoteFiles{Name: git.URL + "@" + files.commit + "-" + git.Ref, Path: path.Clean(git.Path), Files: files}, nil
}

// Chart downloads the newest version of a chart in a repository, in the range of ref.
func (f *Fetch) Chart(ctx context.Context, ref fleet.ChartRef) (*fleet.Chart, error) {
	address := ChartAddress(ref)
	if _, ok := f.charts[address]; !ok {
		found, err := f.source.Resolve(ctx, Request{Ref: ref.Name, Version: ref.Version, Repo: ref.Repo})
		if err != nil {
			return nil, err
		}
		f.charts[address] = fleet.RemoteSource{Address: address, Chart: found.Ref, Digest: found.Ref.Digest}
	}
	return f.source.Chart(ctx, f.charts[address].Chart)
}

// ChartAddress returns the address of the pin of a chart in a kustomization. The version is
// the one in the kustomization, which may be empty or a range.
func ChartAddress(ref fleet.ChartRef) string {
	if ref.Version == "" {
		return ref.Location()
	}
	return ref.Location() + "@" + ref.Version
}

// repo fetches each git repository once.
func (f *Fetch) repo(ctx context.Context, ref fleet.GitRef) (*gitFiles, error) {
	key := ref.URL + " " + ref.Ref
	if files, ok := f.repos[key]; ok {
		return files, nil
	}
	g, end, err := f.source.openRepo(ctx, ref.URL)
	if err != nil {
		return nil, err
	}
	f.close = append(f.close, end)
	files, err := bounded(ctx, ref.URL, func(ctx context.Context) (*gitFiles, error) { return openGitFiles(ctx, g, ref.Ref) })
	if err != nil {
		return nil, err
	}
	files.ctx = ctx
	f.repos[key] = files
	return files, nil
}

// Pins writes all files that were read to the store and returns their pins, sorted
// by address.
func (f *Fetch) Pins(ctx context.Context) ([]fleet.RemoteSource, error) {
	st, err := f.source.store()
	if err != nil {
		return nil, err
	}
	var out []fleet.RemoteSource
	for _, address := range slices.Sorted(maps.Keys(f.used)) {
		git := f.used[address]
		pin, data := fleet.RemoteSource{Address: address, Git: git}, f.files[address]
		if git.URL != "" {
			files := f.repos[git.URL+" "+git.Ref]
			pin.Git.Ref, pin.Dirs = files.commit, slices.Sorted(maps.Keys(files.dirs))
			if data, err = files.archive(ctx, pin.Dirs); err != nil {
				return nil, err
			}
		}
		pin.Digest = digest(data)
		if err := st.write(pin.Digest, data); err != nil {
			return nil, err
		}
		out = append(out, pin)
	}
	for _, address := range slices.Sorted(maps.Keys(f.charts)) {
		out = append(out, f.charts[address])
	}
	return out, nil
}

// Pinned returns the files of a pinned source.
func (s *Source) Pinned(ctx context.Context, src fleet.RemoteSource) (*fleet.RemoteFiles, error) {
	files, err := s.Remote(ctx, src)
	if err != nil {
		return nil, err
	}
	return remoteFilesOf(src, files), nil
}

func remoteFilesOf(src fleet.RemoteSource, files map[string][]byte) *fleet.RemoteFiles {
	const short = 7
	out := &fleet.RemoteFiles{Files: fileMap(files)}
	if src.Git.URL == "" {
		out.Name, out.Path = path.Dir(src.Address), path.Base(src.Address)
	} else {
		out.Name, out.Path = src.Git.URL+"@"+src.Git.Ref[:short], path.Clean(src.Git.Path)
	}
	out.Name += "-" + strings.TrimPrefix(src.Digest, "sha256:")[:short]
	return out
}

// A fileMap maps paths to file contents.
type fileMap map[string][]byte

// IsDir reports whether a file is below the directory.
func (m fileMap) IsDir(name string) bool {
	if name == "." {
		return true
	}
	for file := range m {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// Read returns the content of a file.
func (m fileMap) Read(name string) ([]byte, error) {
	data, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return data, nil
}

// Sources returns the source of the CUE file with the given sorted pins.
func Sources(pins []fleet.RemoteSource) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by fleetc source add; DO NOT EDIT.\n\n")
	b.WriteString("// Package charts pins what kustomizations refer to in other places.\npackage charts\n\nsources: {\n")
	for _, pin := range pins {
		fmt.Fprintf(&b, "\t%s: {\n", quote(pin.Address))
		if pin.IsChart() {
			writeChart(&b, pin.Chart)
		}
		if pin.Git.URL != "" {
			writeGit(&b, pin.Git, quote(pin.Git.Ref))
			b.WriteString("\t\t\tdirs: [\n")
			for _, dir := range pin.Dirs {
				fmt.Fprintf(&b, "\t\t\t\t%s,\n", quote(dir))
			}
			b.WriteString("\t\t\t]\n\t\t}\n")
		}
		writeFields(&b, "\t\t", "digest", quote(pin.Digest))
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// writeChart writes the reference to the chart of a pin.
func writeChart(b *bytes.Buffer, ref fleet.ChartRef) {
	b.WriteString("\t\tchart: {\n")
	writeFields(b, "\t\t\t", "repo", quote(ref.Repo), "name", quote(ref.Name), "version", quote(ref.Version))
	for name, digest := range ref.Dependencies.All() {
		fmt.Fprintf(b, "\t\t\tdependencies: %s: %s\n", quote(name), quote(digest))
	}
	b.WriteString("\t\t}\n")
}

// openRepo creates an empty temporary repository. end removes it.
func (s *Source) openRepo(ctx context.Context, url string) (g gitRepo, end func() error, err error) {
	st, err := s.store()
	if err != nil {
		return g, nil, err
	}
	dir, err := st.tempDir()
	if err != nil {
		return g, nil, err
	}
	end = func() error { return os.RemoveAll(dir) }
	g = gitRepo{dir: dir, url: url}
	if _, err := g.run(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		return g, nil, errors.Join(err, end())
	}
	return g, end, nil
}
