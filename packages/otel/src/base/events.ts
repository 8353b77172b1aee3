import type { FinishEvent, Plugin } from '@modelgate/core'

/** Events that the gateway passes to its plugins. */
export type RequestEvent = Parameters<NonNullable<Plugin['onRequest']>>[0]
export type UpstreamEvent = Parameters<NonNullable<Plugin['onUpstream']>>[0]
export type Attempt = FinishEvent['attempts'][number]
export type { FinishEvent }

/** The fields of a call that are known from start to end. */
export type CallInfo = Pick<FinishEvent, 'requestId' | 'identity' | 'operation' | 'format' | 'model' | 'stream'>
