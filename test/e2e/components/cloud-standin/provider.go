package standin

import (
	"context"
	"errors"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// standIn is a provider of some kinds.
type standIn struct {
	name    string
	schema  schema.Schema
	kinds   map[string]kind
	lookups map[string]lookup
	// connect says which account and region the provider's configuration is about.
	connect func(folder string, config object) cloud
}

// ServeAWS stands in for hashicorp/aws by the protocol of OpenTofu and Terraform, which start the
// program.
func ServeAWS() error { return aws().serve() }

// ServeHelm stands in for hashicorp/helm.
func ServeHelm() error { return helm().serve() }

func (p *standIn) serve() error {
	return providerserver.Serve(context.Background(), func() provider.Provider { return p }, providerserver.ServeOpts{Address: "registry.opentofu.org/hashicorp/" + p.name})
}

func (p *standIn) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = p.name
}

func (p *standIn) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = p.schema
}

func (p *standIn) Configure(_ context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	config, err := fromValue(req.Config.Raw)
	folder := os.Getenv("CLOUD_STANDIN")
	if err == nil && folder == "" {
		err = errors.New("CLOUD_STANDIN is not set; expected the folder that stands in for the cloud")
	}
	if err != nil {
		resp.Diagnostics.AddError("the stand-in for the provider "+p.name, err.Error())
		return
	}
	c := p.connect(folder, config)
	resp.ResourceData, resp.DataSourceData = c, c
}

func (p *standIn) Resources(context.Context) (out []func() resource.Resource) {
	for name, k := range p.kinds {
		out = append(out, func() resource.Resource { return &genericResource{name: name, kind: k} })
	}
	return out
}

func (p *standIn) DataSources(context.Context) (out []func() datasource.DataSource) {
	for name, l := range p.lookups {
		out = append(out, func() datasource.DataSource { return &genericData{name: name, lookup: l} })
	}
	return out
}
