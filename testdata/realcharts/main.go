// Command realcharts writes Istio's Helm charts to a directory, for tests that
// render real charts:
//
//	go run . DIR
//
// The charts are embedded in a Go package of Istio, so that the Go module
// proxy provides them with a checksum. Chart NAME is written to DIR/NAME. The
// directory values contains three sets of values for each chart: NAME-1.yaml
// to NAME-3.yaml.
//
// DIR appears atomically, and several processes may write it at once. A
// directory with the charts of this version is kept, one with another version
// is replaced, and other content is left alone.
package main

import (
	"errors"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"

	"istio.io/istio/manifests"
)

const (
	module = "istio.io/istio"
	stamp  = ".realcharts" // a file with the version of the directory
)

// charts maps the names under which charts are written to their directories in
// the package.
func charts() map[string]string {
	return map[string]string{
		"base":      "charts/base",
		"istiod":    "charts/istio-control/istio-discovery",
		"istio-cni": "charts/istio-cni",
		"gateway":   "charts/gateway",
		"ztunnel":   "charts/ztunnel",
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: realcharts DIR")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// write writes the charts to dir.
func write(dir string) error {
	version, err := istioVersion()
	if err != nil {
		return err
	}
	if held(dir) == version {
		return nil
	}
	// The absolute path has a parent, also for "." and "x/..".
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), stamp+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	whole := filepath.Join(work, "new")
	for name, from := range charts() {
		if err := writeChart(filepath.Join(whole, name), from); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(whole, stamp), []byte(version), 0o644); err != nil {
		return err
	}
	return swap(dir, whole, filepath.Join(work, "old"), version)
}

// swap replaces dir by the directory whole, and moves the previous dir to old.
func swap(dir, whole, old, version string) error {
	if h := held(dir); h != "" && h != version {
		if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// An empty directory may be replaced; another one stays.
	_ = os.Remove(dir)
	err := os.Rename(whole, dir)
	if err != nil && held(dir) == version {
		// Another process has written the same.
		return nil
	}
	return err
}

// held returns the version of the charts in dir, or an empty string.
func held(dir string) string {
	version, err := os.ReadFile(filepath.Join(dir, stamp))
	if err != nil {
		return ""
	}
	return string(version)
}

// writeChart copies one chart of the package to dir.
func writeChart(dir, from string) error {
	if _, err := fs.Stat(manifests.FS, path.Join(from, "Chart.yaml")); err != nil {
		return err
	}
	chart, err := fs.Sub(manifests.FS, from)
	if err != nil {
		return err
	}
	return os.CopyFS(dir, chart)
}

// istioVersion returns the version of the module with the charts.
func istioVersion() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("the program carries no versions of its modules")
	}
	for _, m := range info.Deps {
		if m.Path == module && m.Replace == nil {
			return m.Version, nil
		}
	}
	return "", errors.New("the program carries no version of " + module)
}
