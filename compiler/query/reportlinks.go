package query

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A linker makes links to lines of the repository.
type linker struct{ template string }

// newLinker checks a template. It accepts only http and https, because URLs of other schemes
// can run code.
func newLinker(template string) (linker, error) {
	if template == "" {
		return linker{}, nil
	}
	const file = "file.invalid"
	u, err := url.Parse(strings.NewReplacer("{file}", file, "{line}", "1").Replace(template))
	if err == nil && u.User != nil {
		return linker{}, &diag.Diag{
			Code: diag.CodeURLCredentials,
			Msg:  "the link template has a user or password, which each link would show",
			Hint: "remove the part before the @ of its host",
		}
	}
	if err != nil || strings.Contains(u.Host, file) || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !strings.Contains(template, "{file}") {
		return linker{}, &diag.Diag{
			Code: diag.CodeFlagValue,
			Msg:  "invalid link template " + diag.Visible(template, diag.MaxText),
			Hint: "write it as https://github.com/example/infra/blob/main/{file}#L{line}",
		}
	}
	return linker{template}, nil
}

// link returns the URL of a line.
func (l linker) link(file string, line int) string {
	if l.template == "" {
		return ""
	}
	parts := strings.Split(file, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.NewReplacer("{file}", strings.Join(parts, "/"), "{line}", strconv.Itoa(max(1, line))).Replace(l.template)
}

// place returns the place of a position; nil for one outside of the fleet's files.
func (l linker) place(p diag.Pos) *ReportPlace {
	isPin := strings.HasPrefix(p.File, "environments/charts/") // generated, and in the repository
	if !p.IsValid() || diag.IsTypeFile(p.File) && !isPin || filepath.IsAbs(p.File) || strings.HasPrefix(p.File, "../") {
		return nil
	}
	return &ReportPlace{p.File, p.Line, l.link(p.File, p.Line)}
}
