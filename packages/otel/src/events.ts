import type { FinishEvent, Plugin } from '@modelgate/core'

/** What the gateway tells its plugins. */
export type RequestEvent = Parameters<NonNullable<Plugin['onRequest']>>[0]
export type UpstreamEvent = Parameters<NonNullable<Plugin['onUpstream']>>[0]
export type Attempt = FinishEvent['attempts'][number]
export type { FinishEvent }

/** What is known of a call from its first moment to its last. */
export type CallInfo = Pick<FinishEvent, 'requestId' | 'identity' | 'operation' | 'format' | 'model' | 'stream'>
