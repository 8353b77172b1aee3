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

/** Names that people give to upstreams of providers whose well-known value is another word. */
const otherNames: Readonly<Record<string, string>> = {
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
 * Which provider an upstream is: as configured, else what its name says, else that name itself. The format it speaks says
 * nothing: most providers speak that of another.
 */
export function providerNames(given: Readonly<Record<string, string>> = {}): (upstream: string) => string {
  return (upstream) => {
    if (Object.hasOwn(given, upstream)) return given[upstream] ?? upstream
    const name = upstream.toLowerCase()
    if (wellKnownProviders.has(name)) return name
    return Object.hasOwn(otherNames, name) ? (otherNames[name] ?? upstream) : upstream
  }
}
