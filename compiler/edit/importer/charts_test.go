package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMirrored finds copies of charts, none outside of the directory.
func TestMirrored(t *testing.T) {
	dir := t.TempDir()
	charts := filepath.Join(dir, "charts")
	for _, name := range []string{"charts/app/1.2.0", "charts/app/1.3.0", "outside"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "Chart.yaml"), []byte("name: app\nversion: "+strings.Replace(filepath.Base(name), "outside", "1.0.0", 1)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(charts, "app-1.4.0.tgz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, version, want string }{
		{"app", "1.2.0", "app/1.2.0"},
		{"app", "~1.3", "app/1.3.0"},
		{"app", "^1.2", "app-1.4.0.tgz"},
		{"app", "2.x", ""},
		{"../outside", "", ""},
	} {
		want := test.want
		if want != "" {
			want = filepath.Join(charts, want)
		}
		if got, _ := mirrored(charts, &ChartSource{Name: test.name, Version: test.version}); got != want {
			t.Errorf("%s %s: %q, want %q", test.name, test.version, got, want)
		}
	}
}
