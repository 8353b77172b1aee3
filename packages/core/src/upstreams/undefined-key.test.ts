import { expect, it } from 'vitest'
import * as core from '../index.ts'

type Factory = (options: object) => unknown

/** Options that some provider factories require. */
const required: Readonly<Record<string, object>> = {
  azure: { baseURL: 'https://mine.openai.azure.com' },
  vertex: { project: 'mine' },
  bedrock: { region: 'us-east-1' },
  bedrockMantle: { region: 'us-east-1' },
  openaiCompatible: { baseURL: 'https://host/v1' },
}

const isUpstream = (value: unknown): boolean => typeof value === 'object' && value !== null && 'baseURL' in value

const factories = Object.entries(core).flatMap(([name, value]): [string, Factory][] => {
  if (typeof value !== 'function' || !/^[a-z]/.test(name) || name === 'createGateway') return []
  const factory = value as Factory
  try {
    return isUpstream(factory({ apiKey: 'k', ...required[name] })) ? [[name, factory]] : []
  } catch {
    return []
  }
})

it('finds the provider factories of the catalog', () => expect(factories.length).toBeGreaterThan(20))

it.each(factories)('%s rejects a key that is present but undefined, and accepts no key', (name, factory) => {
  const options = { ...required[name] }
  expect(() => factory({ ...options, apiKey: undefined })).toThrow(
    /apiKey is undefined\. The environment variable that it is read from is probably not set: set it, or leave apiKey out/,
  )
  expect(() => factory({ ...options, apiKey: null })).toThrow('apiKey is null')
  expect(isUpstream(factory(options))).toBe(true)
})
