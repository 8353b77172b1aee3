import type { Operation } from '../operation.ts'
import { gemini, imagen } from './gemini.ts'
import { edits, generations, variations } from './openai.ts'
import type { ImagesAnswer, ImagesRequest } from './request.ts'

const counts = {
  usageOf: ({ usage }: ImagesAnswer) => usage,
  unitsOf: ({ images }: ImagesAnswer) => ({ images: images.length }),
}

/** Images from words. */
export const images: Operation<ImagesRequest, ImagesAnswer> = {
  name: 'images',
  dialects: [generations, imagen, gemini],
  ...counts,
}

/** Images from images and words. */
export const imageEdits: Operation<ImagesRequest, ImagesAnswer> = {
  name: 'image-edits',
  dialects: [edits, { ...gemini, serves: (model) => imagen.serves?.(model) !== true }],
  ...counts,
}

/** Images like an image: nobody but OpenAI does that. */
export const imageVariations: Operation<ImagesRequest, ImagesAnswer> = {
  name: 'image-variations',
  dialects: [variations],
  ...counts,
}
