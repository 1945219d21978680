package query

import "testing"

func TestSplitImage(t *testing.T) {
	for _, test := range []struct{ image, repository, version string }{
		{"nginx", "nginx", "latest"},
		{"nginx:1.27", "nginx", "1.27"},
		{"localhost:5000/a", "localhost:5000/a", "latest"},
		{"localhost:5000/a/b:1", "localhost:5000/a/b", "1"},
		{"r.example/a@sha256:00", "r.example/a", "@sha256:00"},
		{"r.example:5000/a:1@sha256:00", "r.example:5000/a", "1@sha256:00"},
		{"", "", "latest"},
		{":", "", ""},
	} {
		if repository, version := splitImage(test.image); repository != test.repository || version != test.version {
			t.Errorf("%s is %q and %q", test.image, repository, version)
		}
	}
}
