import * as z from 'zod'
import { eachOf } from '../../formats/shared/each-of.ts'

const integer = z.number({ error: 'an integer' }).int({ error: 'an integer' })
const word = z.string().nullish()

/** Types only: which sizes and qualities there are is the model's own business. */
const shared = {
  model: z.string().min(1),
  n: integer.min(1).nullish(),
  size: word,
  quality: word,
  background: word,
  output_format: word,
  output_compression: integer.min(0).max(100).nullish(),
  response_format: word,
  moderation: word,
  style: word,
  user: word,
  stream: z.boolean().nullish(),
  partial_images: integer.min(0).max(3).nullish(),
  input_fidelity: word,
}

export const generation = z.looseObject({ ...shared, prompt: z.string().min(1) })

const file = z.looseObject({ filename: z.string() }, { error: 'a file' })
const reference = z.union([z.string(), z.looseObject({})], { error: 'an object' })

export const edit = z.looseObject({
  ...shared,
  prompt: z.string().min(1),
  // OpenAI writes `images`; xAI also `image`.
  images: eachOf(reference).min(1).nullish(),
  image: z.union([reference, eachOf(reference).min(1)], { error: 'an object' }).nullish(),
  mask: reference.nullish(),
})
export const editForm = z.looseObject({
  ...shared,
  prompt: z.string().min(1),
  image: eachOf(file).min(1),
  mask: file.nullish(),
})
export const variationForm = z.looseObject({ ...shared, model: z.string().min(1).nullish(), image: file })
