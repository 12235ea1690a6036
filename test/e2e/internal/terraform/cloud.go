package terraform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// cloud is the folder that stands in for AWS (component cloud-standin).
type cloud string

// object is a resource in the cloud.
type object struct {
	Account, Region string
	Attributes      map[string]any
}

func (o object) text(name string) string {
	text, _ := o.Attributes[name].(string)
	return text
}

// all reads the resources of a type, sorted by account and region.
func (c cloud) all(kind string) (out []object, err error) {
	files, err := filepath.Glob(filepath.Join(string(c), "*", "*", kind, "*.json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		parts := strings.Split(filepath.ToSlash(file), "/")
		o := object{Account: parts[len(parts)-4], Region: parts[len(parts)-3]}
		if err := json.Unmarshal(data, &o.Attributes); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, o)
	}
	return out, err
}

// Record is a secret of AWS Secrets Manager.
type Record struct{ Name, ARN, Value string }

// Records are the secrets that the wrappers have written.
func (r *Runner) Records() (out []Record, err error) {
	secrets, err := r.cloud.all("aws_secretsmanager_secret")
	if err != nil {
		return nil, err
	}
	versions, err := r.cloud.all("aws_secretsmanager_secret_version")
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, v := range versions {
		values[v.text("secret_id")] = v.text("secret_string")
	}
	for _, s := range secrets {
		out = append(out, Record{s.text("name"), s.text("arn"), values[s.text("arn")]})
	}
	return out, nil
}
