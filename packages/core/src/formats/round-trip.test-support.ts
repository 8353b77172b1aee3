import { codecs } from './codecs.ts'
import { ollamaRoundTrip, type RoundTripCodec } from './ollama/round-trip.test-support.ts'

export type { RoundTripCodec }

/** The codecs of all client formats. Those that no upstream speaks get their other directions here, for tests only. */
export const roundTripCodecs: readonly RoundTripCodec[] = [...codecs, ollamaRoundTrip]
