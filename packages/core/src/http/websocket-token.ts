import type { Inbound } from './inbound.ts'

/** What a subprotocol begins with that is a token. */
export const keyPrefix = 'openai-insecure-api-key.'

/** The subprotocols a client offers. */
export const offered = (inbound: Inbound): readonly string[] =>
  (inbound.header('sec-websocket-protocol') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** A browser cannot set headers on a WebSocket: its token comes as a subprotocol. */
export const tokenOffered = (inbound: Inbound): string | undefined =>
  offered(inbound)
    .find((name) => name.startsWith(keyPrefix))
    ?.slice(keyPrefix.length) || undefined
