package importer

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// pure are the functions of sprig whose result depends on their arguments alone.
const pure = `abbrev abbrevboth add add1 add1f addf adler32sum all any append atoi b32dec b32enc b64dec b64enc base biggest buildCustomCert
camelcase cat ceil chunk clean coalesce compact concat contains decryptAES deepCopy deepEqual default derivePassword dict dig dir div divf
duration durationRound empty ext fail first float64 floor fromJson get has hasKey hasPrefix hasSuffix hello indent initial initials int int64
isAbs join kebabcase keys kindIs kindOf last list lower max maxf merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact
mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind
mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToJson
mustToPrettyJson mustToRawJson mustUniq mustWithout nindent nospace omit osBase osClean osDir osExt osIsAbs pick pluck plural prepend push
quote regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral regexSplit repeat replace rest reverse round
semver semverCompare seq set sha1sum sha256sum sha512sum slice snakecase sortAlpha split splitList splitn squote sub subf substr swapcase
ternary title toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll trimPrefix trimSuffix trimall trunc tuple typeIs
typeIsLike typeOf uniq unixEpoch unset until untilStep untitle upper urlJoin urlParse values without wrap wrapWith`

// Every function of sprig is known: its result depends on its arguments alone, or it is
// refused. A new version of sprig may add others.
func TestTemplateFunctions(t *testing.T) {
	known := strings.Fields(pure)
	for _, names := range varying {
		known = append(known, names...)
	}
	slices.Sort(known)
	if twice := len(known) - len(slices.Compact(slices.Clone(known))); twice > 0 {
		t.Errorf("%d functions are listed twice", twice)
	}
	if all := slices.Sorted(maps.Keys(sprig.TxtFuncMap())); !slices.Equal(all, known) {
		for _, name := range all {
			if !slices.Contains(known, name) {
				t.Errorf("%s is not known", name)
			}
		}
		for _, name := range known {
			if !slices.Contains(all, name) {
				t.Errorf("sprig has no function %s", name)
			}
		}
	}
	for _, names := range varying {
		for _, name := range names {
			err := template.Must(template.New("t").Funcs(templateFunctions()).Parse("{{ "+name+" }}")).Execute(&TemplateOutput{}, nil)
			if v, ok := errors.AsType[*VaryingError](err); !ok || v.Function != name {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The result of a template is limited.
func TestTemplateOutput(t *testing.T) {
	text := template.Must(template.New("t").Funcs(templateFunctions()).Parse(`{{ range until 100000 }}{{ repeat 100 "x" }}{{ end }}`))
	out := &TemplateOutput{}
	if err := text.Execute(out, nil); err == nil || !strings.Contains(err.Error(), "the result is larger than 4 MiB") || out.Len() > maxTemplateOutput {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}
