package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Limits of a chart, including the archives nested in it. Where Helm has a limit,
// the value is the same.
const (
	maxEntries = 10_000
	maxTotal   = 100 << 20 // bytes of all files, unpacked
	maxFile    = 5 << 20   // bytes of one file, unpacked
	maxName    = 1024      // bytes of a file's name
	maxDepth   = 8         // archives inside archives

	// maxStream limits the size of an unpacked archive with its headers. A tar entry
	// may have any number of headers.
	maxStream = maxTotal + maxEntries*4096
)

var (
	errNoArchive = errors.New("not a chart archive: neither gzip nor tar")
	errStream    = fmt.Errorf("the archive unpacks to more than %d MiB", maxStream>>20)
	errTotal     = fmt.Errorf("the files are larger than %d MiB in all", maxTotal>>20)
	errEntries   = fmt.Errorf("more than %d files and directories", maxEntries)

	drive = regexp.MustCompile(`^[a-zA-Z]:`)
)

// bom is the byte order mark at the start of some text files from Windows. Helm
// drops it.
const bom = "\xEF\xBB\xBF"

// unpack returns the files of a chart's archive, tar or gzipped tar, with the names
// that Helm's loader gives them. It refuses every archive that Helm's loader
// refuses, and also names that are unsafe on some system, links and devices,
// duplicate names, and nested archives in charts/ with any of these.
func unpack(data []byte) ([]fleet.File, error) {
	b := budget{entries: maxEntries, bytes: maxTotal}
	if !isGzip(data) && !isTar(data) {
		return nil, errNoArchive
	}
	files, err := b.unpack(data)
	if err != nil {
		return nil, err
	}
	return files, b.inner(files, 1)
}

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b, 8}) }

func isTar(data []byte) bool {
	const at = 257 // offset of the magic in a tar header
	return len(data) > at && bytes.HasPrefix(data[at:], []byte("ustar"))
}

// A budget is the remaining part of a chart's limits. Nested archives share the
// budget of the outer one.
type budget struct {
	entries int
	bytes   int64
}

// unpack reads one archive of a chart. It does not unpack nested archives.
func (b *budget) unpack(data []byte) ([]fleet.File, error) {
	files, err := b.untar(data)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f fleet.File) bool { return f.Name == "Chart.yaml" }) {
		return nil, errors.New("no Chart.yaml in the archive's top directory")
	}
	for i, f := range files {
		files[i].Data = bytes.TrimPrefix(f.Data, []byte(bom))
	}
	return files, nil
}

// untar reads one archive, which must have a single top directory.
func (b *budget) untar(data []byte) ([]fleet.File, error) {
	var stream io.Reader = bytes.NewReader(data)
	if isGzip(data) {
		unzipped, err := gzip.NewReader(stream)
		if err != nil {
			return nil, fmt.Errorf("not a chart archive: %w", err)
		}
		stream = unzipped
	}
	var files []fleet.File
	top, seen := "", map[string]bool{}
	for in := tar.NewReader(&limitedReader{stream, maxStream, errStream}); ; {
		hd, err := in.Next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, errStream) {
			return nil, errStream
		}
		if err != nil {
			return nil, fmt.Errorf("a damaged archive: %w", err)
		}
		if err := b.entry(); err != nil {
			return nil, err
		}
		if hd.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		dir, name, err := entryName(hd)
		if err != nil {
			return nil, err
		}
		if top == "" {
			top = dir
		}
		if dir != top {
			return nil, fmt.Errorf("%q is outside of the archive's top directory %s", hd.Name, top)
		}
		if hd.Typeflag == tar.TypeDir {
			continue
		}
		if seen[name] {
			return nil, fmt.Errorf("two files have the name %s", name)
		}
		seen[name] = true
		content, err := b.file(in, name, hd.Size)
		if err != nil {
			return nil, err
		}
		files = append(files, fleet.File{Name: name, Data: content})
	}
	return files, nil
}

func (b *budget) entry() error {
	if b.entries--; b.entries < 0 {
		return errEntries
	}
	return nil
}

// file reads a file of the given size.
func (b *budget) file(in io.Reader, name string, size int64) ([]byte, error) {
	if size > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	if size >= b.bytes {
		return nil, errTotal
	}
	b.bytes -= size
	content := make([]byte, size)
	if _, err := io.ReadFull(in, content); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return content, nil
}

// inner checks the nested archives in charts/, including those in unpacked
// subcharts. Helm's loader unpacks them later.
func (b *budget) inner(files []fleet.File, depth int) error {
	for _, f := range files {
		if !isInner(f.Name) {
			continue
		}
		if depth > maxDepth {
			return fmt.Errorf("%s: archives are nested %d levels deep", f.Name, depth)
		}
		if !isGzip(f.Data) {
			return fmt.Errorf("%s: not a gzip archive", f.Name)
		}
		unpacked, err := b.unpack(f.Data)
		if err == nil {
			err = b.inner(unpacked, depth+1)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// isInner reports whether Helm's loader unpacks the file as a chart.
func isInner(name string) bool {
	for {
		below, ok := strings.CutPrefix(name, "charts/")
		if !ok {
			return false
		}
		chart, rest, isDir := strings.Cut(below, "/")
		if strings.IndexAny(chart, "_.") == 0 {
			return false
		}
		if !isDir {
			return path.Ext(chart) == ".tgz"
		}
		name = rest
	}
}

// entryName splits the name of a tar entry into the top directory and the clean
// relative name below it. The name of the top directory itself is ".".
func entryName(hd *tar.Header) (top, name string, err error) {
	switch hd.Typeflag {
	case tar.TypeReg:
		if hd.FileInfo().IsDir() {
			return "", "", fmt.Errorf("%q is a file and says that it is a directory", hd.Name)
		}
	case tar.TypeDir:
	case tar.TypeSymlink, tar.TypeLink:
		return "", "", fmt.Errorf("%q is a link", hd.Name)
	default:
		return "", "", fmt.Errorf("%q is neither a file nor a directory", hd.Name)
	}
	if err := checkName(hd.Name); err != nil {
		return "", "", err
	}
	full := hd.Name
	if strings.Contains(full, `\`) {
		if strings.Contains(full, "/") {
			return "", "", fmt.Errorf("the name %q mixes slashes and backslashes", hd.Name)
		}
		full = strings.ReplaceAll(full, `\`, "/") // written by archivers on Windows
	}
	top, name, _ = strings.Cut(full, "/")
	clean := path.Clean(name)
	switch {
	case top == "" || strings.HasPrefix(name, "/"):
		return "", "", fmt.Errorf("the name %q is absolute", hd.Name)
	case drive.MatchString(top) || drive.MatchString(clean):
		return "", "", fmt.Errorf("the name %q has a drive letter", hd.Name)
	case top == ".." || strings.HasPrefix(clean, "..") || strings.Contains("/"+name+"/", "/../"):
		return "", "", fmt.Errorf("the name %q leads upwards", hd.Name)
	case top == "Chart.yaml", clean == "." && hd.Typeflag != tar.TypeDir:
		return "", "", fmt.Errorf("%q is not inside a top directory", hd.Name)
	}
	return top, clean, nil
}

// checkName refuses names that terminals, JSON or file systems could misinterpret.
func checkName(name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("the name %.40q... is longer than %d bytes", name, maxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %q is not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the name %q has a control character", name)
	}
	return nil
}

// A limitedReader returns err after left bytes.
type limitedReader struct {
	in   io.Reader
	left int64
	err  error
}

func (c *limitedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, c.err
	}
	n, err := c.in.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
