variable "cluster_name" {
  description = "Name of the member, as in its file below fleet/fleet-members"
  type        = string
  validation {
    condition     = length(var.cluster_name) <= 63 && can(regex("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", var.cluster_name))
    error_message = "cluster_name: expected a DNS-1123 label: lower-case letters, digits and inner hyphens, at most 63 characters."
  }
}

variable "server" {
  description = "Address of the API server, as https://HOST"
  type        = string
  validation {
    condition     = can(regex("^https://[^/\\s]+", var.server))
    error_message = "server: expected the address of an API server, as https://HOST."
  }
}

variable "connection" {
  description = "How Argo CD connects: a role (EKS), a token, or a client's certificate. Certificates and keys are base64"
  sensitive   = true
  type = object({
    role_arn     = optional(string)
    bearer_token = optional(string)
    ca_data      = optional(string)
    cert_data    = optional(string)
    key_data     = optional(string)
    server_name  = optional(string)
    proxy_url    = optional(string)
    insecure     = optional(bool, false)
  })
  validation {
    condition     = var.connection.role_arn != null || var.connection.bearer_token != null || (var.connection.cert_data != null && var.connection.key_data != null)
    error_message = "connection: expected role_arn, bearer_token, or cert_data with key_data."
  }
  validation {
    condition     = var.connection.role_arn == null || can(regex("^arn:[a-z-]+:iam::[0-9]{12}:role/.+$", var.connection.role_arn))
    error_message = "connection.role_arn: expected the ARN of a role, as arn:aws:iam::123456789012:role/NAME."
  }
  validation {
    condition     = !(var.connection.insecure && var.connection.ca_data != null)
    error_message = "connection.insecure: expected no ca_data beside it: a certificate is verified or it is not."
  }
  validation {
    condition     = var.connection.role_arn == null || var.connection.proxy_url == null
    error_message = "connection.proxy_url: expected none beside role_arn: a login of the hub's own is sent to no proxy of the record's choice."
  }
}

variable "aws" {
  description = "Where the cluster is in AWS; become the annotations aws_account_id, aws_region, aws_cluster_name, aws_vpc_id and aws_oidc_issuer"
  default     = null
  type = object({
    account_id   = string
    region       = string
    cluster_name = optional(string)
    vpc_id       = optional(string)
    oidc_issuer  = optional(string)
  })
  validation {
    condition     = var.aws == null || can(regex("^[0-9]{12}$", var.aws.account_id))
    error_message = "aws.account_id: expected twelve digits, as text."
  }
}

variable "role_arns" {
  description = "ARNs of roles by component, as {external-dns = \"arn:...\"}; become the annotations aws_role_<component>"
  type        = map(string)
  default     = {}
  validation {
    condition     = alltrue([for arn in values(var.role_arns) : can(regex("^arn:[a-z-]+:iam::[0-9]{12}:role/.+$", arn))])
    error_message = "role_arns: expected ARNs of roles, as arn:aws:iam::123456789012:role/NAME."
  }
}

variable "metadata" {
  description = "More facts, which become annotations; null and empty ones are left out"
  type        = map(string)
  default     = {}
  validation {
    condition     = alltrue([for key in keys(var.metadata) : can(regex("^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", key))])
    error_message = "metadata: expected names of annotations."
  }
}

variable "addons" {
  description = "Facts that become labels, which selectors see; null and empty ones are left out. Git wins over them"
  type        = map(string)
  default     = {}
  validation {
    condition     = alltrue([for key in keys(var.addons) : can(regex("^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", key))])
    error_message = "addons: expected names of labels."
  }
  validation {
    condition     = alltrue([for value in values(var.addons) : value == null ? true : length(value) <= 63 && can(regex("^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", value))])
    error_message = "addons: expected values of labels: letters, digits, '-', '_' and '.', at most 63 characters."
  }
}
