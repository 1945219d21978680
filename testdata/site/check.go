package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// A document has the parts of an HTML file that links concern.
type document struct {
	ids   map[string]bool
	links []string // to pages and other sites
	loads []string // scripts, styles, pictures: the browser loads them
}

// checkSite checks that all links of a site lead to a file and an anchor that exist, and that
// its pages load nothing from elsewhere. Base is the path of the site on its server.
func checkSite(dir, base string) error {
	documents, files := map[string]*document{}, map[string]bool{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files[name] = true
		if path.Ext(name) == ".html" {
			documents[name], err = readDocument(path.Join(dir, name))
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(documents) == 0 {
		return fmt.Errorf("%s has no pages", dir)
	}
	var faults []error
	for name, d := range documents {
		for _, link := range append(d.links, d.loads...) {
			if err := checkLink(name, link, base, files, documents); err != nil {
				faults = append(faults, fmt.Errorf("%s: %q: %w", name, link, err))
			}
		}
		for _, link := range d.loads {
			if u, err := url.Parse(link); err != nil || u.Host != "" {
				faults = append(faults, fmt.Errorf("%s loads %s: copy the file to the site", name, link))
			}
		}
	}
	return errors.Join(sorted(faults)...)
}

// checkLink checks a link of a page. Links to other sites and to other versions are not
// checked.
func checkLink(from, link, base string, files map[string]bool, documents map[string]*document) error {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return err
	}
	name := from
	if u.Path != "" {
		absolute := u.Path
		if !strings.HasPrefix(absolute, "/") {
			absolute = path.Join(base, path.Dir(from), absolute)
		}
		rel, ok := strings.CutPrefix(absolute, base)
		if !ok {
			return nil
		}
		name = rel
		switch {
		case name == "" || strings.HasSuffix(name, "/"):
			name += "index.html"
		case !files[name]:
			name += ".html" // as servers of static files do
		}
		if !files[name] {
			return errors.New("the page does not exist")
		}
	}
	if d := documents[name]; u.Fragment != "" && (d == nil || !d.ids[u.Fragment]) {
		return fmt.Errorf("%s has no such heading", name)
	}
	return nil
}

func readDocument(file string) (*document, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	root, err := html.Parse(f)
	if err != nil {
		return nil, err
	}
	d := &document{ids: map[string]bool{}}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				d.ids[a.Val] = true
			case a.Key == "href" && n.Data == "a":
				d.links = append(d.links, a.Val)
			case a.Key == "src" || a.Key == "href" && n.Data == "link":
				d.loads = append(d.loads, a.Val)
			}
		}
	}
	return d, nil
}

// sorted sorts errors by their text.
func sorted(faults []error) []error {
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}
