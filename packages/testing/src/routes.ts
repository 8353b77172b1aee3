import type { FakeFormat } from './types.ts'

export type Operation = 'chat' | 'messages' | 'count-tokens' | 'models'

/** What a path stands for. */
export interface Destination {
  readonly operation: Operation
  readonly method: 'GET' | 'POST'
  /** The rest of a path below `/models/`. */
  readonly model: string | undefined
}

/** With and without `/v1`: base URLs have it or not. */
export function destinationOf(path: string): Destination | undefined {
  const short = path.replace(/^\/v1(?=\/)/, '').replace(/(?<=.)\/$/, '')
  switch (short) {
    case '/chat/completions':
      return { operation: 'chat', method: 'POST', model: undefined }
    case '/messages':
      return { operation: 'messages', method: 'POST', model: undefined }
    case '/messages/count_tokens':
      return { operation: 'count-tokens', method: 'POST', model: undefined }
    case '/models':
      return { operation: 'models', method: 'GET', model: undefined }
    default:
      return short.startsWith('/models/')
        ? { operation: 'models', method: 'GET', model: decodeModel(short.slice('/models/'.length)) }
        : undefined
  }
}

function decodeModel(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The dialect that errors of a call are written in. */
export function dialectOf(destination: Destination | undefined, headers: Readonly<Record<string, string>>): FakeFormat {
  if (destination?.operation === 'chat') return 'chat'
  if (destination?.operation === 'messages' || destination?.operation === 'count-tokens') return 'messages'
  return headers['anthropic-version'] === undefined ? 'chat' : 'messages'
}
