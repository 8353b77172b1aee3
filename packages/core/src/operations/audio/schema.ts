import * as z from 'zod'
import { eachOf } from '../../formats/shared/each-of.ts'
import type { FieldTypes } from '../multipart/fields.ts'

const word = z.string().nullish()
const words = eachOf(z.string(), 'an array of strings').nullish()
const file = z.looseObject({ filename: z.string() }, { error: 'a file' })

const upload = {
  file,
  model: z.string().min(1),
  prompt: word,
  response_format: word,
  temperature: z.number().min(0).max(1).nullish(),
}

export const translation = z.looseObject(upload)
export const transcription = z.looseObject({
  ...upload,
  language: word,
  languages: words,
  keywords: words,
  include: words,
  timestamp_granularities: words,
  known_speaker_names: words,
  known_speaker_references: words,
  stream: z.boolean().nullish(),
})

export const fields: FieldTypes = {
  file: 'file',
  model: 'text',
  prompt: 'text',
  response_format: 'text',
  temperature: 'number',
  language: 'text',
  languages: 'list',
  keywords: 'list',
  include: 'list',
  timestamp_granularities: 'list',
  known_speaker_names: 'list',
  known_speaker_references: 'list',
  chunking_strategy: 'text',
  stream: 'boolean',
}

export const speech = z.looseObject({
  model: z.string().min(1),
  input: z.string().min(1),
  voice: z.union([z.string().min(1), z.looseObject({})], { error: 'one of a string or an object' }),
  instructions: word,
  response_format: word,
  speed: z.number().min(0.25).max(4).nullish(),
  stream_format: word,
})
