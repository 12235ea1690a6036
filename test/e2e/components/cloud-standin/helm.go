package standin

import (
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// helm stands in for hashicorp/helm: releases are files of the account "helm", region the host of
// the API server.
func helm() *standIn {
	return &standIn{
		name: "helm",
		schema: schema.Schema{Attributes: map[string]schema.Attribute{
			"kubernetes": schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
				"host":                   schema.StringAttribute{Optional: true},
				"cluster_ca_certificate": schema.StringAttribute{Optional: true},
				"exec": schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
					"api_version": schema.StringAttribute{Required: true},
					"command":     schema.StringAttribute{Required: true},
					"args":        schema.ListAttribute{Optional: true, ElementType: types.StringType},
				}},
			}},
		}},
		connect: func(folder string, config object) cloud {
			kubernetes, _ := config["kubernetes"].(map[string]any)
			host := object(kubernetes).text("host")
			if host == "" { // not known before the cluster is there
				host = "unknown"
			}
			return cloud{folder: folder, account: "helm", region: made(12, host)}
		},
		kinds: map[string]kind{
			"helm_release": {
				schema: resourceschema.Schema{Attributes: map[string]resourceschema.Attribute{
					"id":               computed(),
					"name":             fixed(),
					"namespace":        fixed(),
					"create_namespace": resourceschema.BoolAttribute{Optional: true},
					"repository":       optional(),
					"chart":            required(),
					"version":          optional(),
					"values":           resourceschema.ListAttribute{Optional: true, ElementType: types.StringType},
				}},
				create: func(_ cloud, o object) error {
					o["id"] = o.text("namespace") + "/" + o.text("name")
					return nil
				},
			},
		},
	}
}
