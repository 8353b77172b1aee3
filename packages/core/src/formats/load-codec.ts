import { lazy } from '../base/async.ts'
import type { Format, UpstreamFormat } from '../base/names.ts'
import type { Codec, UpstreamCodec, WireCodec } from './codec.ts'

type Loader<F extends UpstreamFormat> = F extends Format
  ? () => Codec | Promise<Codec>
  : () => UpstreamCodec | Promise<UpstreamCodec>

/** Loads the whole codec of each format on first use; returns it without a promise once it has been loaded. */
export const codecLoaders: { readonly [F in UpstreamFormat]: Loader<F> } = {
  chat: lazy(() => import('./chat/codec.ts').then(({ chatCodec }) => chatCodec)),
  messages: lazy(() => import('./messages/codec.ts').then(({ messagesCodec }) => messagesCodec)),
  gemini: lazy(() => import('./gemini/codec.ts').then(({ geminiCodec }) => geminiCodec)),
  responses: lazy(() => import('./responses/codec.ts').then(({ responsesCodec }) => responsesCodec)),
  converse: lazy(() => import('./converse/codec.ts').then(({ converseCodec }) => converseCodec)),
}

export function loadCodec(format: Format): Codec | Promise<Codec>
export function loadCodec(format: UpstreamFormat): UpstreamCodec | Promise<UpstreamCodec>
export function loadCodec(format: UpstreamFormat): UpstreamCodec | Promise<UpstreamCodec> {
  return codecLoaders[format]()
}

const isWhole = (codec: WireCodec): codec is Codec => 'decodeRequest' in codec

/** The whole codec of a call. Operations that bring a codec of their own (completions) bring it whole. */
export const wholeOf = (codec: WireCodec): Codec | Promise<Codec> => (isWhole(codec) ? codec : loadCodec(codec.format))
