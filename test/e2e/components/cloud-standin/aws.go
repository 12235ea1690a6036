package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type attributes = map[string]resourceschema.Attribute

// computed is an attribute that AWS makes up when the object is created.
func computed() resourceschema.Attribute {
	return resourceschema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}

// fixed is an argument whose change replaces the object.
func fixed() resourceschema.Attribute {
	return resourceschema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}}
}

func required() resourceschema.Attribute { return resourceschema.StringAttribute{Required: true} }

func optional() resourceschema.Attribute { return resourceschema.StringAttribute{Optional: true} }

// region is the region of an object: by default the provider's.
func region() resourceschema.Attribute {
	return resourceschema.StringAttribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIfConfigured(), stringplanmodifier.UseStateForUnknown()}}
}

// aws stands in for hashicorp/aws.
func aws() *standIn {
	kinds := map[string]kind{}
	for _, some := range []map[string]kind{network, eks, iam, secrets} {
		for name, k := range some {
			kinds[name] = k
		}
	}
	return &standIn{
		name: "aws",
		schema: schema.Schema{
			Attributes: map[string]schema.Attribute{"region": schema.StringAttribute{Optional: true}},
			Blocks: map[string]schema.Block{
				"assume_role": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{"role_arn": schema.StringAttribute{Optional: true}},
				}},
			},
		},
		connect: func(folder string, config object) cloud {
			c := cloud{folder: folder, account: os.Getenv("AWS_ACCESS_KEY_ID"), region: config.text("region")}
			if roles, _ := config["assume_role"].([]any); len(roles) > 0 {
				role, _ := roles[0].(map[string]any)
				c.account = accountOf(object(role).text("role_arn"))
			}
			return c
		},
		kinds:   kinds,
		lookups: lookups,
	}
}

// accountOf is the account of an ARN.
func accountOf(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > 5 {
		return parts[4]
	}
	return ""
}

var lookups = map[string]lookup{
	"aws_caller_identity": {
		schema: dataschema.Schema{Attributes: map[string]dataschema.Attribute{
			"id": dataschema.StringAttribute{Computed: true}, "account_id": dataschema.StringAttribute{Computed: true},
		}},
		read: func(c cloud, o object) error {
			o["id"], o["account_id"] = c.account, c.account
			return nil
		},
	},
	"aws_availability_zones": {
		schema: dataschema.Schema{Attributes: map[string]dataschema.Attribute{
			"id": dataschema.StringAttribute{Computed: true}, "state": dataschema.StringAttribute{Optional: true},
			"names": dataschema.ListAttribute{Computed: true, ElementType: types.StringType},
		}},
		read: func(c cloud, o object) error {
			o["id"], o["names"] = c.region, []any{c.region + "a", c.region + "b", c.region + "c"}
			return nil
		},
	},
	"aws_ssm_parameter": {
		schema: dataschema.Schema{Attributes: map[string]dataschema.Attribute{
			"id": dataschema.StringAttribute{Computed: true}, "name": dataschema.StringAttribute{Required: true},
			"arn": dataschema.StringAttribute{Computed: true}, "type": dataschema.StringAttribute{Computed: true},
			"value": dataschema.StringAttribute{Computed: true, Sensitive: true}, "insecure_value": dataschema.StringAttribute{Computed: true},
		}},
		read: func(c cloud, o object) error {
			parameter, err := c.get("aws_ssm_parameter", o.text("name"))
			if err == nil && parameter == nil {
				err = fmt.Errorf("ParameterNotFound: %s in account %s, region %s", o.text("name"), c.account, c.region)
			}
			for _, name := range []string{"id", "arn", "type", "value", "insecure_value"} {
				o[name] = parameter[name]
			}
			return err
		},
	},
}

// What the stand-ins for the modules terraform-aws-modules/vpc and /eks are made of.
var network = map[string]kind{
	"aws_vpc": {
		schema: resourceschema.Schema{Attributes: attributes{"id": computed(), "region": region(), "name": fixed(), "cidr_block": fixed()}},
		create: func(c cloud, o object) error {
			cidr, err := netip.ParsePrefix(o.text("cidr_block"))
			if err == nil && (cidr.Bits() < 16 || cidr.Bits() > 28 || cidr.Masked() != cidr) {
				err = fmt.Errorf("InvalidVpc.Range: %s; expected a network of /16 to /28", cidr)
			}
			o["id"] = "vpc-" + made(17, c.account, c.region, o.text("name"))
			return err
		},
	},
	"aws_subnet": {
		schema: resourceschema.Schema{Attributes: attributes{"id": computed(), "region": region(), "vpc_id": fixed(), "cidr_block": fixed(), "availability_zone": fixed()}},
		create: func(c cloud, o object) error {
			vpc, err := c.get("aws_vpc", o.text("vpc_id"))
			if err != nil {
				return err
			}
			all, err := netip.ParsePrefix(vpc.text("cidr_block"))
			if err != nil {
				return fmt.Errorf("network %q: %w", o.text("vpc_id"), err)
			}
			cidr, err := netip.ParsePrefix(o.text("cidr_block"))
			if err != nil {
				return err
			}
			if !all.Contains(cidr.Addr()) || cidr.Bits() < all.Bits() || cidr.Bits() > 28 {
				return fmt.Errorf("InvalidSubnet.Range: %s is not in %s", cidr, all)
			}
			o["id"] = "subnet-" + made(17, o.text("vpc_id"), o.text("cidr_block"))
			others, err := c.all("aws_subnet")
			for _, other := range others {
				if p, e := netip.ParsePrefix(other.text("cidr_block")); e == nil && other.text("vpc_id") == o.text("vpc_id") && other.text("id") != o.text("id") && p.Overlaps(cidr) {
					return fmt.Errorf("InvalidSubnet.Conflict: %s overlaps %s", cidr, p)
				}
			}
			return err
		},
	},
}

var eks = map[string]kind{
	"aws_eks_cluster": {
		schema: resourceschema.Schema{Attributes: attributes{
			"id": computed(), "region": region(), "name": fixed(), "version": required(), "arn": computed(), "endpoint": computed(), "ca_data": computed(), "oidc_issuer": computed(),
			"subnet_ids": resourceschema.ListAttribute{Required: true, ElementType: types.StringType},
		}},
		create: func(c cloud, o object) error {
			name := o.text("name")
			subnets, _ := o["subnet_ids"].([]any)
			for _, id := range subnets {
				if err := c.must("aws_subnet", fmt.Sprint(id)); err != nil {
					return err
				}
			}
			host := strings.ToUpper(made(32, c.account, c.region, name))
			o["id"], o["arn"] = name, fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", c.region, c.account, name)
			o["endpoint"] = fmt.Sprintf("https://%s.gr7.%s.eks.amazonaws.com", host, c.region)
			o["oidc_issuer"] = fmt.Sprintf("https://oidc.eks.%s.amazonaws.com/id/%s", c.region, host)
			o["ca_data"] = "Y2E="
			return realCluster(c.folder, o)
		},
	},
	"aws_eks_access_entry": {
		schema: resourceschema.Schema{Attributes: attributes{"id": computed(), "region": region(), "cluster_name": fixed(), "principal_arn": fixed()}},
		create: func(c cloud, o object) error {
			o["id"] = o.text("cluster_name") + ":" + o.text("principal_arn")
			return errors.Join(c.must("aws_eks_cluster", o.text("cluster_name")), c.principal(o.text("principal_arn")))
		},
	},
	"aws_eks_access_policy_association": {
		schema: resourceschema.Schema{
			Attributes: attributes{"id": computed(), "region": region(), "cluster_name": fixed(), "principal_arn": fixed(), "policy_arn": fixed()},
			Blocks: map[string]resourceschema.Block{"access_scope": resourceschema.ListNestedBlock{NestedObject: resourceschema.NestedBlockObject{
				Attributes: attributes{"type": required(), "namespaces": resourceschema.ListAttribute{Optional: true, ElementType: types.StringType}},
			}}},
		},
		create: func(c cloud, o object) error {
			o["id"] = o.text("cluster_name") + "#" + o.text("principal_arn") + "#" + o.text("policy_arn")
			if !strings.HasPrefix(o.text("policy_arn"), "arn:aws:eks::aws:cluster-access-policy/") {
				return fmt.Errorf("InvalidParameterException: policyArn %s is no access policy of EKS", o.text("policy_arn"))
			}
			return c.must("aws_eks_access_entry", o.text("cluster_name")+":"+o.text("principal_arn"))
		},
	},
	"aws_eks_pod_identity_association": {
		schema: resourceschema.Schema{Attributes: attributes{
			"id": computed(), "region": region(), "cluster_name": fixed(), "namespace": fixed(), "service_account": fixed(), "role_arn": required(),
		}},
		create: func(c cloud, o object) error { // one of a ServiceAccount, as its id says
			o["id"] = o.text("cluster_name") + "/" + o.text("namespace") + "/" + o.text("service_account")
			return errors.Join(c.must("aws_eks_cluster", o.text("cluster_name")), c.principal(o.text("role_arn")))
		},
	},
}

// realCluster gives a cluster the address that clusters.json has for it.
func realCluster(folder string, o object) error {
	data, err := os.ReadFile(filepath.Join(folder, "clusters.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var clusters map[string]struct{ Endpoint, CA string }
	if err := json.Unmarshal(data, &clusters); err != nil {
		return fmt.Errorf("clusters.json: %w", err)
	}
	if of, is := clusters[o.text("name")]; is {
		o["endpoint"], o["ca_data"] = of.Endpoint, of.CA
	}
	return nil
}

var roleName = regexp.MustCompile(`^[\w+=,.@-]{1,64}$`)

var iam = map[string]kind{
	"aws_iam_role": {
		isGlobal: true,
		schema:   resourceschema.Schema{Attributes: attributes{"id": computed(), "arn": computed(), "name": fixed(), "assume_role_policy": required()}},
		create: func(c cloud, o object) error {
			o["id"], o["arn"] = o["name"], fmt.Sprintf("arn:aws:iam::%s:role/%s", c.account, o.text("name"))
			if !roleName.MatchString(o.text("name")) {
				return fmt.Errorf("ValidationError: roleName %q; expected at most 64 letters, digits and _+=,.@-", o.text("name"))
			}
			return c.policy(o.text("assume_role_policy"), true)
		},
	},
	"aws_iam_role_policy": {
		isGlobal: true,
		schema:   resourceschema.Schema{Attributes: attributes{"id": computed(), "name": fixed(), "role": fixed(), "policy": required()}},
		create: func(c cloud, o object) error {
			o["id"] = o.text("role") + ":" + o.text("name")
			return errors.Join(c.must("aws_iam_role", o.text("role")), c.policy(o.text("policy"), false))
		},
	},
	"aws_iam_role_policy_attachment": {
		isGlobal: true,
		schema:   resourceschema.Schema{Attributes: attributes{"id": computed(), "role": fixed(), "policy_arn": fixed()}},
		create: func(c cloud, o object) error {
			o["id"] = o.text("role") + "/" + o.text("policy_arn")
			return c.must("aws_iam_role", o.text("role"))
		},
	},
}

var (
	secretName    = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]{1,512}$`)
	parameterName = regexp.MustCompile(`^(/[A-Za-z0-9_.-]+)+$`)
)

var secrets = map[string]kind{
	"aws_kms_key": {
		schema: resourceschema.Schema{Attributes: attributes{
			"id": computed(), "region": region(), "arn": computed(), "description": required(), "policy": required(), "enable_key_rotation": resourceschema.BoolAttribute{Optional: true},
		}},
		create: func(c cloud, o object) error {
			o["id"] = made(32, c.account, c.region, o.text("description"))
			o["arn"] = fmt.Sprintf("arn:aws:kms:%s:%s:key/%s", c.region, c.account, o.text("id"))
			if !strings.Contains(o.text("policy"), "arn:aws:iam::"+c.account+":root") {
				return errors.New("MalformedPolicyDocumentException: the new key policy will not allow you to update the key policy in the future")
			}
			return c.policy(o.text("policy"), true)
		},
	},
	"aws_secretsmanager_secret": {
		schema: resourceschema.Schema{Attributes: attributes{"id": computed(), "region": region(), "arn": computed(), "name": fixed(), "kms_key_id": optional()}},
		create: func(c cloud, o object) error {
			// AWS adds six characters, so that a new secret of the same name is another one.
			o["arn"] = fmt.Sprintf("arn:aws:secretsmanager:%s:%s:secret:%s-%s", c.region, c.account, o.text("name"), made(6, c.account, c.region, o.text("name")))
			o["id"] = o["arn"]
			if !secretName.MatchString(o.text("name")) {
				return fmt.Errorf("ValidationException: name %q; expected at most 512 letters, digits and /_+=.@-", o.text("name"))
			}
			if key := o.text("kms_key_id"); key != "" {
				return c.must("aws_kms_key", key[strings.LastIndex(key, "/")+1:])
			}
			return nil
		},
	},
	"aws_secretsmanager_secret_policy": {
		schema: resourceschema.Schema{Attributes: attributes{"id": computed(), "region": region(), "secret_arn": fixed(), "policy": required()}},
		create: func(c cloud, o object) error {
			o["id"] = o["secret_arn"]
			return errors.Join(c.must("aws_secretsmanager_secret", o.text("secret_arn")), c.policy(o.text("policy"), true))
		},
	},
	"aws_secretsmanager_secret_version": {
		schema: resourceschema.Schema{Attributes: attributes{
			"id": computed(), "region": region(), "secret_id": fixed(), "secret_string": resourceschema.StringAttribute{Optional: true, Sensitive: true},
		}},
		create: func(c cloud, o object) error {
			o["id"] = o["secret_id"]
			return c.must("aws_secretsmanager_secret", o.text("secret_id"))
		},
	},
	"aws_ssm_parameter": {
		schema: resourceschema.Schema{Attributes: attributes{
			"id": computed(), "region": region(), "arn": computed(), "name": fixed(), "type": required(), "insecure_value": resourceschema.StringAttribute{Computed: true},
			"value": resourceschema.StringAttribute{Required: true, Sensitive: true},
		}},
		create: func(c cloud, o object) error {
			o["id"], o["insecure_value"] = o["name"], o["value"]
			o["arn"] = fmt.Sprintf("arn:aws:ssm:%s:%s:parameter%s", c.region, c.account, o.text("name"))
			if !parameterName.MatchString(o.text("name")) {
				return fmt.Errorf("ValidationException: parameter name %q; expected parts of letters, digits and _.-, each after a slash", o.text("name"))
			}
			return nil
		},
	},
}

// policy checks a document of IAM: its form, and, where it says who, that they are there.
func (c cloud) policy(text string, hasPrincipals bool) error {
	var document struct {
		Version   string
		Statement []struct {
			Effect              string
			Action              any
			Resource, Principal any
		}
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return fmt.Errorf("MalformedPolicyDocument: %w", err)
	}
	if document.Version != "2012-10-17" || len(document.Statement) == 0 {
		return errors.New("MalformedPolicyDocument: expected a Version and a Statement")
	}
	for _, s := range document.Statement {
		if s.Effect != "Allow" && s.Effect != "Deny" || s.Action == nil || hasPrincipals != (s.Principal != nil) || !hasPrincipals && (s.Resource == nil || fmt.Sprint(s.Resource) == "[]") {
			return fmt.Errorf("MalformedPolicyDocument: a statement of %v lacks something or has too much", s.Action)
		}
		who, _ := s.Principal.(map[string]any)
		roles, isList := who["AWS"].([]any)
		if !isList && who["AWS"] != nil {
			roles = []any{who["AWS"]}
		}
		for _, role := range roles {
			if err := c.principal(fmt.Sprint(role)); err != nil {
				return fmt.Errorf("MalformedPolicyDocument: %w", err)
			}
		}
	}
	return nil
}

// principal is an error where an ARN is no role that is there, and not an account as a whole.
func (c cloud) principal(arn string) error {
	account := accountOf(arn)
	if arn == "arn:aws:iam::"+account+":root" {
		return nil
	}
	name, is := strings.CutPrefix(arn, "arn:aws:iam::"+account+":role/")
	if !is {
		return fmt.Errorf("invalid principal %q", arn)
	}
	if err := (cloud{c.folder, account, global}).must("aws_iam_role", name); err != nil {
		return fmt.Errorf("invalid principal %q: %w", arn, err)
	}
	return nil
}
