import { describe, expect, it } from 'vitest'
import { createProviderLookup, operationConvention } from './conventions.ts'

describe('the provider name of an upstream', () => {
  it.each([
    ['openai', 'openai'],
    ['Anthropic', 'anthropic'],
    ['aws.bedrock', 'aws.bedrock'],
    ['gemini', 'gcp.gemini'],
    ['mistral', 'mistral_ai'],
    ['azure', 'azure.ai.openai'],
    ['our-vllm', 'our-vllm'],
    ['constructor', 'constructor'],
  ])('of an upstream named %s is %s by default', (upstream, provider) => {
    expect(createProviderLookup()(upstream)).toBe(provider)
  })

  it('is the configured name before all others', () => {
    const providerOf = createProviderLookup({ openai: 'groq', 'our-vllm': 'vllm' })
    expect(['openai', 'our-vllm', 'cohere'].map(providerOf)).toEqual(['groq', 'vllm', 'cohere'])
  })
})

describe("the conventions' operation name", () => {
  it.each([
    ['generate', 'chat', 'chat'],
    ['generate', 'messages', 'chat'],
    ['generate', 'responses', 'chat'],
    ['generate', 'gemini', 'generate_content'],
    ['completions', 'chat', 'text_completion'],
    ['embeddings', 'gemini', 'embeddings'],
    ['images', 'chat', 'generate_content'],
    ['count-tokens', 'messages', 'count_tokens'],
    ['rerank', 'chat', 'rerank'],
  ])('for %s in the format %s is %s', (operation, format, name) => {
    expect(operationConvention(operation, format).name).toBe(name)
  })
})
