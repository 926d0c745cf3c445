// pulumi-resource-kafka bridges the Terraform provider for Kafka under the tokens and names of the pulumi-kafka SDKs.
package main

import (
	"fmt"

	"github.com/Mongey/terraform-provider-kafka/kafka"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
)

var version string // set by the linker

func main() {
	// The engine wants no more of a schema than its name and version; a full one serves the generators of SDKs.
	schema := fmt.Sprintf(`{"name": "kafka", "version": %q}`, version)
	tfbridge.Main("kafka", version, provider(), []byte(schema))
}

func provider() tfbridge.ProviderInfo {
	info := tfbridge.ProviderInfo{
		P:       shimv2.NewProvider(kafka.Provider()),
		Name:    "kafka",
		Version: version,
		Config: map[string]*tfbridge.SchemaInfo{
			"sasl_mechanism":  {Default: &tfbridge.DefaultInfo{EnvVars: []string{"KAFKA_SASL_MECHANISM"}, Value: "plain"}},
			"skip_tls_verify": {Default: &tfbridge.DefaultInfo{EnvVars: []string{"KAFKA_SKIP_VERIFY"}, Value: false}},
			"tls_enabled":     {Default: &tfbridge.DefaultInfo{EnvVars: []string{"KAFKA_ENABLE_TLS"}, Value: true}},
		},
		Resources: map[string]*tfbridge.ResourceInfo{
			"kafka_acl": {
				Tok: "kafka:index/acl:Acl",
				Fields: map[string]*tfbridge.SchemaInfo{
					"resource_name": {Name: "aclResourceName"},
					"resource_type": {Name: "aclResourceType"},
				},
			},
			"kafka_quota":                 {Tok: "kafka:index/quota:Quota"},
			"kafka_topic":                 {Tok: "kafka:index/topic:Topic"},
			"kafka_user_scram_credential": {Tok: "kafka:index/userScramCredential:UserScramCredential"},
		},
		DataSources: map[string]*tfbridge.DataSourceInfo{
			"kafka_topic":  {Tok: "kafka:index:getTopic"},
			"kafka_topics": {Tok: "kafka:index:getTopics"},
		},
	}
	info.SetAutonaming(255, "-")
	return info
}
