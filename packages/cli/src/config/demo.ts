import { randomBytes } from 'node:crypto'
import { anthropic, cohere, gemini, openai, type Upstream } from '@modelgate/core'

/** Upstreams that need no key. */
export interface Demo {
  readonly upstreams: Record<string, Upstream>
  readonly models: Record<string, string>
}

/** A running demo. */
export interface OpenDemo extends Demo {
  /** Its address, for other processes. */
  readonly address: DemoAddress
  close(): Promise<void>
}

/** Address and key of a demo. */
export interface DemoAddress {
  readonly apiKey: string
  readonly origin: string
  readonly url: string
  readonly realtimeUrl: string
}

/**
 * Starts the demo: a fake provider in this process behind a real socket, so that the gateway runs as with a real provider. It offers one
 * upstream per format, so that every kind of client can be tried against each format.
 */
export async function openDemo(): Promise<OpenDemo> {
  const { createFakeProvider, listen, listenRealtime } = await import('@modelgate/testing')
  const apiKey = randomBytes(24).toString('base64url')
  const { url, origin, close } = await listen(createFakeProvider({ apiKey, paceMs: 25, keepRequests: 0 }))
  const realtime = await listenRealtime({ apiKey, paceMs: 25 })
  const address = { apiKey, url, origin, realtimeUrl: realtime.url }
  return {
    ...demoAt(address),
    address,
    close: async () => {
      await Promise.all([close(), realtime.close()])
    },
  }
}

/** Returns the upstreams of a running demo. */
export function demoAt({ apiKey, origin, url, realtimeUrl }: DemoAddress): Demo {
  return {
    upstreams: {
      'demo-openai': openai({ apiKey, baseURL: url, formats: ['chat'] }),
      'demo-anthropic': anthropic({ apiKey, baseURL: origin }),
      'demo-google': gemini({ apiKey, baseURL: origin }),
      'demo-openai-responses': openai({ apiKey, baseURL: url, formats: ['responses'] }),
      'demo-cohere': cohere({ apiKey, baseURL: origin }),
      'demo-openai-realtime': openai({ apiKey, baseURL: realtimeUrl }),
    },
    models: {
      'demo-chat': 'demo-openai',
      'demo-messages': 'demo-anthropic',
      'demo-gemini': 'demo-google',
      'demo-responses': 'demo-openai-responses',
      'demo-embedding': 'demo-openai',
      'demo-image': 'demo-openai',
      'demo-transcribe': 'demo-openai',
      'demo-speech': 'demo-openai',
      'demo-rerank': 'demo-cohere',
      'demo-realtime': 'demo-openai-realtime',
    },
  }
}
