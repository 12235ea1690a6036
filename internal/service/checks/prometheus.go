package checks

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/argosy-hub/argosy/internal/fleet/rollout"
)

// Bounds of a response.
const (
	maxBytes   = 1 << 20
	maxSamples = 1000
)

// queryResult is the response of Prometheus to an instant query (prometheus v2 and v3,
// docs/querying/api.md, "Instant queries").
type queryResult struct {
	Status string `json:"status"`
	Data   struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// judge returns why a result does not pass a check, and whether a value is beyond its bounds.
func judge(data []byte, check rollout.Check) (why string, fails bool) {
	values, err := samples(data)
	switch {
	case err != nil:
		return err.Error(), false
	case len(values) == 0:
		return "its query has no samples", false
	case len(values) > maxSamples:
		return fmt.Sprintf("its query has %d samples; expected at most %d", len(values), maxSamples), false
	}
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			why = "its query has a sample that is not a number"
		case check.Min != nil && v < *check.Min:
			return fmt.Sprintf("%s; expected at least %s", number(v), number(*check.Min)), true
		case check.Max != nil && v > *check.Max:
			return fmt.Sprintf("%s; expected at most %s", number(v), number(*check.Max)), true
		}
	}
	return why, false
}

// samples returns the values of a result.
func samples(data []byte) ([]float64, error) {
	var r queryResult
	if err := json.Unmarshal(data, &r); err != nil || r.Status != "success" {
		return nil, fmt.Errorf("its response is not a result of Prometheus")
	}
	var pairs [][]json.RawMessage
	var err error
	switch r.Data.ResultType {
	case "scalar":
		pairs = make([][]json.RawMessage, 1)
		err = json.Unmarshal(r.Data.Result, &pairs[0])
	case "vector":
		var all []struct {
			Value []json.RawMessage `json:"value"`
		}
		err = json.Unmarshal(r.Data.Result, &all)
		for _, x := range all {
			pairs = append(pairs, x.Value)
		}
	default:
		return nil, fmt.Errorf("its query has a result of type %.20q; expected a vector or a scalar", r.Data.ResultType)
	}
	var out []float64
	for _, pair := range pairs { // the time, and the value as text
		var text string
		if err != nil || len(pair) != 2 || json.Unmarshal(pair[1], &text) != nil {
			return nil, fmt.Errorf("its response is not a result of Prometheus")
		}
		v, failed := strconv.ParseFloat(text, 64)
		if failed != nil {
			return nil, fmt.Errorf("its response is not a result of Prometheus")
		}
		out = append(out, v)
	}
	return out, nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
