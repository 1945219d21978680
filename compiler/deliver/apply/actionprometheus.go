package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// promAnswer is the answer of Prometheus to an instant query.
type promAnswer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
}

// promSeries is one series of a vector.
type promSeries struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"` // time and value
}

// query checks the present values of a query, and those of the time before it. The error
// says which value exceeds the threshold.
func (r *ActionRunner) query(ctx context.Context, q *fleet.PrometheusQuery) error {
	if err := r.queryNow(ctx, q, q.Query); err != nil || q.For == 0 {
		return err
	}
	// The steps of a subquery end up to an evaluation interval before the present.
	return r.queryNow(ctx, q, fmt.Sprintf("max_over_time((%s)[%ds:])", q.Query, int(q.For.Seconds())))
}

// queryNow makes an instant query.
func (r *ActionRunner) queryNow(ctx context.Context, q *fleet.PrometheusQuery, expr string) error {
	what := "query of " + redactedURL(q.URL)
	response, body, err := r.send(ctx, &fleet.HTTPRequest{
		Method: http.MethodPost, URL: strings.TrimSuffix(q.URL, "/") + "/api/v1/query", Body: url.Values{"query": {expr}}.Encode(),
		Headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, SecretHeaders: q.SecretHeaders,
	}, what)
	if err != nil {
		return err
	}
	var answer promAnswer
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status == "" {
		return fmt.Errorf("%s returned %d %s, which is not a response of the Prometheus API", what, response.StatusCode, http.StatusText(response.StatusCode))
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s failed: %s", what, diag.Line(answer.Error, diag.MaxText))
	}
	return checkThreshold(what, &answer, q.Threshold)
}

// checkThreshold returns an error for a value above the threshold, or without any value.
func checkThreshold(what string, answer *promAnswer, threshold float64) error {
	var series []promSeries
	var err error
	switch answer.Data.Type {
	case "vector":
		err = json.Unmarshal(answer.Data.Result, &series)
	case "scalar":
		series = make([]promSeries, 1)
		err = json.Unmarshal(answer.Data.Result, &series[0].Value)
	default:
		return fmt.Errorf("%s returned a result of type %q, expected a vector or a scalar", what, diag.Visible(answer.Data.Type, diag.MaxText))
	}
	if err != nil {
		return fmt.Errorf("%s returned a result that cannot be read", what)
	}
	if len(series) == 0 {
		return fmt.Errorf("%s returned no result", what)
	}
	for _, s := range series {
		text, _ := s.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err == nil && value <= threshold { // NaN is not
			continue
		}
		name := ""
		for _, key := range slices.Sorted(maps.Keys(s.Metric)) {
			name += " " + key + "=" + s.Metric[key]
		}
		return fmt.Errorf("%s returned %s; the threshold is %v%s", what, diag.Visible(text, diag.MaxText), threshold, diag.Visible(name, diag.MaxText))
	}
	return nil
}
