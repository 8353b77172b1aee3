import { describe, expect, it } from 'vitest'
import { operationOf } from './operations.ts'
import { providerNames } from './providers.ts'

describe('which provider an upstream is', () => {
  it.each([
    ['openai', 'openai'],
    ['Anthropic', 'anthropic'],
    ['aws.bedrock', 'aws.bedrock'],
    ['gemini', 'gcp.gemini'],
    ['mistral', 'mistral_ai'],
    ['azure', 'azure.ai.openai'],
    ['our-vllm', 'our-vllm'],
    ['constructor', 'constructor'],
  ])('%s, without being told: %s', (upstream, provider) => {
    expect(providerNames()(upstream)).toBe(provider)
  })

  it('is what the user says before all', () => {
    const providerOf = providerNames({ openai: 'groq', 'our-vllm': 'vllm' })
    expect(['openai', 'our-vllm', 'cohere'].map(providerOf)).toEqual(['groq', 'vllm', 'cohere'])
  })
})

describe("the conventions' word for an operation", () => {
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
  ])('%s in %s: %s', (operation, format, name) => {
    expect(operationOf(operation, format).name).toBe(name)
  })
})
