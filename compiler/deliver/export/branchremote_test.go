package export

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Pull writes the files of the tip, removes those that are gone, and does not grow with
// the number of commits.
func TestPull(t *testing.T) {
	s := serve(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "b\n"})
	r, err := OpenRemote(t.Context(), s.url, ".")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pull := func(branch string) (string, string) {
		t.Helper()
		dir, commit, err := r.Pull(t.Context(), branch)
		if err != nil {
			t.Fatal(err)
		}
		return dir, commit
	}
	read := func(dir, name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return string(data)
	}
	dir, first := pull("")
	if read(dir, "a.txt") != "one\n" || read(dir, "sub/b.txt") != "b\n" || len(first) < 40 {
		t.Errorf("pulled %q and %q at %s", read(dir, "a.txt"), read(dir, "sub/b.txt"), first)
	}
	if again, same := pull("main"); again != dir || same != first {
		t.Errorf("the same tip is in %s at %s", again, same)
	}
	sizes := []int64{}
	for i := range 6 {
		s.commit(t, "main", map[string]string{"a.txt": fmt.Sprint(i), "big": strings.Repeat(fmt.Sprint(i), 100) + randomText(i)})
		if _, commit := pull("main"); commit == first || read(dir, "a.txt") != fmt.Sprint(i) {
			t.Errorf("after a commit: %q at %s", read(dir, "a.txt"), commit)
		}
		sizes = append(sizes, sizeOf(t, r.dir))
	}
	if last := sizes[len(sizes)-1]; last > sizes[0]+20000 {
		t.Errorf("the copy grows: %v", sizes)
	}
	s.commit(t, "main", map[string]string{"sub/b.txt": ""})
	if pull("main"); read(dir, "sub/b.txt") != "" {
		t.Error("a removed file stays")
	}
	if _, _, err := r.Pull(t.Context(), "none"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("of a branch that does not exist: %v", err)
	}
	if _, _, err := r.Pull(t.Context(), "-x"); err == nil || !strings.Contains(err.Error(), "not a valid branch name") {
		t.Errorf("of an invalid name: %v", err)
	}
}

// randomText returns 20,000 bytes that git cannot compress well.
func randomText(seed int) string {
	var b strings.Builder
	for x := uint64(seed + 1); b.Len() < 20000; {
		x = x*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "%x", x)
	}
	return b.String()
}

// sizeOf returns the size of the files below a directory.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
