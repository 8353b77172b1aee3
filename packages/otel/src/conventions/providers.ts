/** The conventions' well-known values of `gen_ai.provider.name`. */
const wellKnownProviders: ReadonlySet<string> = new Set([
  'anthropic',
  'aws.bedrock',
  'azure.ai.inference',
  'azure.ai.openai',
  'cohere',
  'deepseek',
  'gcp.gemini',
  'gcp.gen_ai',
  'gcp.vertex_ai',
  'groq',
  'ibm.watsonx.ai',
  'mistral_ai',
  'openai',
  'perplexity',
  'x_ai',
])

/** Common upstream names of providers whose well-known value is spelled otherwise. */
const commonUpstreamNames: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  claude: 'anthropic',
  gemini: 'gcp.gemini',
  google: 'gcp.gen_ai',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
}

/**
 * Creates a function that returns the provider of an upstream: the configured one, else the one its name implies, else the name
 * itself.
 * The format is no evidence: most providers speak another provider's format.
 */
export function createProviderLookup(given: Readonly<Record<string, string>> = {}): (upstream: string) => string {
  return (upstream) => {
    if (Object.hasOwn(given, upstream)) return given[upstream] ?? upstream
    const name = upstream.toLowerCase()
    if (wellKnownProviders.has(name)) return name
    return Object.hasOwn(commonUpstreamNames, name) ? (commonUpstreamNames[name] ?? upstream) : upstream
  }
}
