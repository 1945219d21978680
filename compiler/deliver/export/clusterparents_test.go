package export

import (
	"slices"
	"testing"
)

func TestClusterParents(t *testing.T) {
	files := []string{
		"README", "bundle.json", "local/bundle.json", "local/web/configmap-a.yaml", "prod/eu/1/bundle.json", "prod/eu/1/web/a.yaml", "prod/us/bundle.json",
		"staging/web/bundle.json/x", "/bundle.json", "//x/bundle.json", "../../bundle.json",
	}
	want := []string{"..", "/", "prod", "prod/eu"}
	if got := ClusterParents(files); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
