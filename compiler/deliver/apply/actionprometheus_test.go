package apply

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestThreshold(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"resultType":"vector","result":[{"metric":{},"value":[1,"4"]},{"metric":{"job":"b"},"value":[1,"5"]}]}`, ""},
		{`{"resultType":"vector","result":[{"metric":{},"value":[1,"4"]},{"metric":{"a":"x","job":"b"},"value":[1,"5.1"]}]}`, "returned 5.1; the threshold is 5 a=x job=b"},
		{`{"resultType":"vector","result":[{"metric":{},"value":[1,"NaN"]}]}`, "returned NaN"},
		{`{"resultType":"vector","result":[{"metric":{},"value":[1,"-Inf"]}]}`, ""},
		{`{"resultType":"vector","result":[{"metric":{},"value":[1,"+Inf"]}]}`, "returned +Inf"},
		{`{"resultType":"vector","result":[{"metric":{},"value":[1,4]}]}`, "returned ;"},
		{`{"resultType":"vector","result":[]}`, "returned no result"},
		{`{"resultType":"scalar","result":[1,"4"]}`, ""},
		{`{"resultType":"scalar","result":[1,"6"]}`, "returned 6"},
		{`{"resultType":"scalar","result":"4"}`, "cannot be read"},
		{`{"resultType":"matrix","result":[]}`, `returned a result of type "matrix"`},
	} {
		var answer promAnswer
		if err := json.Unmarshal([]byte(c.data), &answer.Data); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := checkThreshold("query", &answer, 5); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.data, got, c.want)
		}
	}
}
