package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/ignore"
)

func TestGitTree(t *testing.T) {
	line := func(mode, size, name string) string { return mode + " blob abc  " + size + "\t" + name + "\x00" }
	blobsOf := func(listing string) ([]blob, error) {
		tree := newGitTree()
		if err := tree.add("", listing); err != nil {
			return nil, err
		}
		return tree.blobs(".", ignore.Empty())
	}
	blobs, err := blobsOf(line("100644", "3", "templates/a") + line("100755", "1", "templates-b") + line("100644", "2", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := []blob{{"abc", 2, "Chart.yaml"}, {"abc", 1, "templates-b"}, {"abc", 3, "templates/a"}}
	if !slices.Equal(blobs, want) {
		t.Errorf("got %v, want %v", blobs, want)
	}
	var many, large strings.Builder
	for i := range maxEntries + 1 {
		many.WriteString(line("100644", "0", fmt.Sprint(i)))
	}
	for i := range 21 {
		large.WriteString(line("100644", fmt.Sprint(maxFile), fmt.Sprint(i)))
	}
	for listing, want := range map[string]string{
		line("120000", "9999", "a"):        "a is a symbolic link to , which has a target of more than 1024 bytes",
		"160000 commit abc       -\ta\x00": "a is a submodule",
		line("040000", "1", "a"):           "which is not the mode of a file",
		line("100644", "x", "a"):           "git lists",
		"100644 blob\ta\x00":               "git lists",
		line("100644", "1", "a\x07"):       "control character",
		line("100644", "99999999999", "a"): "larger than 5 MiB",
		many.String():                      "more than 10000",
		large.String():                     "larger than 100 MiB in all",
	} {
		if _, err := blobsOf(listing); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestCanonicalTarNeverChanges compares with fixed bytes, because committed pins
// contain their digest.
func TestCanonicalTarNeverChanges(t *testing.T) {
	long := strings.Repeat("long/", 60) + "name"
	names := []string{"Chart.yaml", long, "templates/ü.yaml"}
	var blobs []blob
	var contents [][]byte
	for _, n := range names {
		blobs = append(blobs, blob{"", int64(len(n)), n})
		contents = append(contents, []byte(n))
	}
	data, err := canonicalTar(blobs, contents)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := digest(data), "sha256:248f526661fb090767e70393e7690dc732cf1071694343ce95c67ea4ce2af295"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	files, err := unpack(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if f.Name != names[i] || string(f.Data) != names[i] {
			t.Errorf("got %s %q, want %s", f.Name, f.Data, names[i])
		}
	}
}
