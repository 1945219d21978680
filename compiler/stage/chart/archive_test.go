package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
)

var yaml1 = file("web/Chart.yaml", chartYAML("web", "1.0.0"))

func TestUnpackAsHelmDoes(t *testing.T) {
	for name, data := range map[string][]byte{
		"plain": pack(t, yaml1, file("web/templates/a.yaml", "a")),
		"directories": pack(t, tar.Header{Name: "web/", Typeflag: tar.TypeDir, Mode: 0o755}, yaml1,
			tar.Header{Name: "web/templates/", Typeflag: tar.TypeDir, Mode: 0o755}, file("web/templates/a.yaml", "a")),
		"dot":            pack(t, tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, file("./Chart.yaml", "x"), file("./a/b", "a")),
		"BOM":            pack(t, file("web/Chart.yaml", bom+"name: web"), file("web/values.yaml", bom)),
		"unclean":        pack(t, file("web/./Chart.yaml", "x"), file("web/a/.//b", "a")),
		"windows":        pack(t, file(`web\Chart.yaml`, "x"), file(`web\templates\a.yaml`, "a")),
		"git's header":   pack(t, tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}, yaml1),
		"long name":      pack(t, yaml1, file("web/"+strings.Repeat("a/", 300)+"b", "a")),
		"empty file":     pack(t, yaml1, file("web/a", "")),
		"another's .tgz": pack(t, yaml1, file("web/files/a.tgz", "no archive"), file("web/charts/_a.tgz", "none"), file("web/charts/a.tgz.prov", "none")),
		"subchart":       pack(t, yaml1, file("web/charts/db-1.0.0.tgz", string(archive(t, "db", "1.0.0")))),
	} {
		t.Run(name, func(t *testing.T) {
			want, err := loader.LoadArchiveFiles(bytes.NewReader(zip(t, data)))
			if err != nil {
				t.Fatalf("helm: %v", err)
			}
			for form, data := range map[string][]byte{"tar": data, "gzip": zip(t, data)} {
				got, err := unpack(data)
				if err != nil || len(got) != len(want) {
					t.Fatalf("%s: got %d files, %v; want %d", form, len(got), err, len(want))
				}
				for i, f := range got {
					if f.Name != want[i].Name || !bytes.Equal(f.Data, want[i].Data) {
						t.Errorf("%s: got %s %q, want %s %q", form, f.Name, f.Data, want[i].Name, want[i].Data)
					}
				}
			}
		})
	}
}

// A refusal is an archive and the expected error.
type refusal struct {
	data []byte
	want string
}

func wantRefused(t *testing.T, list map[string]refusal) {
	t.Helper()
	for name, c := range list {
		t.Run(name, func(t *testing.T) {
			files, err := unpack(c.data)
			if err == nil {
				t.Fatalf("got %v", names(files))
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q", err, c.want)
			}
		})
	}
}

func TestUnpackRefuses(t *testing.T) {
	damaged := pack(t, yaml1, file("web/a", strings.Repeat("a", 2000)))
	wantRefused(t, map[string]refusal{
		"nothing":          {nil, "neither gzip nor tar"},
		"a page":           {[]byte("<!DOCTYPE html>"), "neither gzip nor tar"},
		"half a gzip":      {zip(t, damaged)[:40], "damaged archive"},
		"bad gzip":         {[]byte{0x1f, 0x8b, 8, 0xff}, "not a chart archive"},
		"half a tar":       {damaged[:1800], "a: unexpected EOF"},
		"no Chart.yaml":    {pack(t, file("web/a", "")), "no Chart.yaml"},
		"Chart.yaml deep":  {pack(t, file("./web/Chart.yaml", "")), "no Chart.yaml"},
		"no directory":     {pack(t, file("Chart.yaml", "")), "not inside a top directory"},
		"Chart.yaml/":      {pack(t, file("Chart.yaml/Chart.yaml", "")), "not inside a top directory"},
		"absolute":         {pack(t, yaml1, file("/etc/passwd", "")), "absolute"},
		"absolute below":   {pack(t, yaml1, file("web//etc/passwd", "")), "absolute"},
		"absolute windows": {pack(t, yaml1, file(`\etc\passwd`, "")), "absolute"},
		"up":               {pack(t, yaml1, file("web/../../x", "")), "leads upwards"},
		"up inside":        {pack(t, yaml1, file("web/a/../b", "")), "leads upwards"},
		"up first":         {pack(t, yaml1, file("../x", "")), "leads upwards"},
		"up windows":       {pack(t, yaml1, file(`web\..\x`, "")), "leads upwards"},
		"two dots":         {pack(t, yaml1, file("web/..a", "")), "leads upwards"},
		"up directory":     {pack(t, yaml1, tar.Header{Name: "web/../../a/", Typeflag: tar.TypeDir}), "leads upwards"},
		"mixed":            {pack(t, yaml1, file(`web/a\b`, "")), "mixes slashes and backslashes"},
		"drive":            {pack(t, yaml1, file("web/c:/x", "")), "drive letter"},
		"drive first":      {pack(t, yaml1, file("c:/x", "")), "drive letter"},
		"drive windows":    {pack(t, yaml1, file(`c:\x`, "")), "drive letter"},
		"symbolic link":    {pack(t, yaml1, tar.Header{Name: "web/a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "is a link"},
		"hard link":        {pack(t, yaml1, tar.Header{Name: "web/a", Typeflag: tar.TypeLink, Linkname: "web/Chart.yaml"}), "is a link"},
		"device":           {pack(t, yaml1, tar.Header{Name: "web/a", Typeflag: tar.TypeChar}), "neither a file nor a directory"},
		"pipe":             {pack(t, yaml1, tar.Header{Name: "web/a", Typeflag: tar.TypeFifo}), "neither a file nor a directory"},
		"file directory":   {pack(t, yaml1, tar.Header{Name: "web/a", Mode: 0o040755, Linkname: "a"}), "says that it is a directory"},
		"twice":            {pack(t, yaml1, file("web/a", "1"), file("web/./a", "2")), "two files have the name a"},
		"two tops":         {pack(t, yaml1, file("db/a", "")), "outside of the archive's top directory web"},
		"control":          {pack(t, yaml1, file("web/a\x1b[31m", "")), "control character"},
		"not UTF-8":        {pack(t, yaml1, tar.Header{Name: "web/\xff", Format: tar.FormatGNU}), "not UTF-8"},
		"nested bad":       {pack(t, yaml1, file("web/charts/a.tgz", "x")), "charts/a.tgz: not a gzip archive"},
		"nested tar":       {pack(t, yaml1, file("web/charts/a.tgz", string(pack(t, yaml1)))), "charts/a.tgz: not a gzip archive"},
		"nested in a dir": {
			pack(t, yaml1, file("web/charts/a/charts/b.tgz", string(zip(t, pack(t, yaml1, file("web/../../x", "")))))),
			"charts/a/charts/b.tgz: the name \"web/../../x\" leads upwards",
		},
	})
}

func TestUnpackLimits(t *testing.T) {
	many := []tar.Header{yaml1}
	for i := range maxEntries {
		many = append(many, file(fmt.Sprintf("web/%d", i), ""))
	}
	dirs := []tar.Header{yaml1}
	for i := range maxEntries {
		dirs = append(dirs, tar.Header{Name: fmt.Sprintf("web/%d/", i), Typeflag: tar.TypeDir})
	}
	large := []tar.Header{yaml1}
	for i := range maxTotal / maxFile {
		large = append(large, file(fmt.Sprintf("web/%d", i), strings.Repeat("\x00", maxFile)))
	}
	deep := archive(t, "web", "1.0.0")
	for range maxDepth + 1 {
		deep = zip(t, pack(t, yaml1, file("web/charts/web.tgz", string(deep))))
	}
	half := strings.Repeat("\x00", maxFile)
	inside := []tar.Header{yaml1}
	for i := range maxTotal / maxFile / 2 {
		inside = append(inside, file(fmt.Sprintf("web/%d", i), half))
	}
	twice := zip(t, pack(t, inside...))
	wantRefused(t, map[string]refusal{
		"long name":        {pack(t, yaml1, file("web/"+strings.Repeat("a", maxName), "")), "longer than 1024 bytes"},
		"a large file":     {zip(t, pack(t, yaml1, file("web/a", half+"\x00"))), "a is larger than 5 MiB"},
		"large in all":     {zip(t, pack(t, large...)), "larger than 100 MiB in all"},
		"many files":       {zip(t, pack(t, many...)), "more than 10000 files"},
		"many directories": {zip(t, pack(t, dirs...)), "more than 10000 files"},
		"headers":          {headerBomb(t), "unpacks to more than"},
		"nested deep":      {deep, "nested 9 levels deep"},
		"nested large": {
			zip(t, pack(t, yaml1, file("web/charts/a.tgz", string(twice)), file("web/charts/b.tgz", string(twice)))),
			"charts/b.tgz: the files are larger than 100 MiB in all",
		},
	})
}

// headerBomb is a small gzip file with endless extended headers, which a tar reader
// skips.
func headerBomb(t *testing.T) []byte {
	t.Helper()
	var one bytes.Buffer
	w := tar.NewWriter(&one)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "web/a", PAXRecords: map[string]string{"FLEETC.x": strings.Repeat("a", 1<<19)}}); err != nil {
		t.Fatal(err)
	}
	header := one.Bytes()[:one.Len()-512] // without the header of the file
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for written := 0; written <= maxStream; written += len(header) {
		if _, err := z.Write(header); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestLimitedReader(t *testing.T) {
	c := &limitedReader{strings.NewReader("abcdef"), 4, io.ErrNoProgress}
	got, err := io.ReadAll(c)
	if string(got) != "abcd" || err != io.ErrNoProgress {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzArchive checks that unpack never panics, never returns a name outside the
// chart, and refuses every archive that Helm's loader refuses.
func FuzzArchive(f *testing.F) {
	f.Add(pack(f, yaml1, file("web/a/b", "c")))
	f.Add(pack(f, yaml1, file(`web\a`, "c")))
	f.Add(pack(f, yaml1, file("web/../a", "c")))
	f.Add(zip(f, pack(f, yaml1)))
	f.Add(pack(f, yaml1, file("web/charts/a.tgz", string(zip(f, pack(f, yaml1))))))
	f.Fuzz(func(t *testing.T, data []byte) {
		// withSums repairs checksums, because most mutations of a header break them.
		for _, data := range [][]byte{data, withSums(data)} {
			files, err := unpack(data)
			if err != nil {
				continue
			}
			seen := map[string]bool{}
			for _, file := range files {
				n := file.Name
				if n == "" || n == "." || path.Clean("/"+n) != "/"+n || strings.ContainsAny(n, "\\\x00") || drive.MatchString(n) || seen[n] {
					t.Errorf("a file with the name %q", n)
				}
				seen[n] = true
			}
			if !isGzip(data) {
				data = zip(t, data)
			}
			want, err := loader.LoadArchiveFiles(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("helm: %v", err)
			}
			if len(want) != len(files) {
				t.Fatalf("%d files, helm has %d", len(files), len(want))
			}
			for i, w := range want {
				if w.Name != files[i].Name || !bytes.Equal(w.Data, files[i].Data) {
					t.Errorf("%s differs from %s, which helm reads", files[i].Name, w.Name)
				}
			}
		}
	})
}

// withSums corrects the checksums of all blocks that may be tar headers.
func withSums(data []byte) []byte {
	data = bytes.Clone(data)
	for at := 0; at+512 <= len(data); at += 512 {
		block := data[at : at+512]
		if string(block[257:262]) != "ustar" {
			continue
		}
		copy(block[148:156], "        ")
		sum := 0
		for _, c := range block {
			sum += int(c)
		}
		copy(block[148:156], fmt.Sprintf("%06o\x00 ", sum))
	}
	return data
}

func TestWithSums(t *testing.T) {
	data := pack(t, yaml1)
	binary.BigEndian.PutUint32(data[148:], 0)
	if _, err := unpack(withSums(data)); err != nil {
		t.Error(err)
	}
}
