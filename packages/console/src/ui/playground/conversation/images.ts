import type { Image } from '../formats/format.ts'

/** Limit in bytes of one image. Base64 adds a third, and the smallest provider limit is 5 MB. */
const maxBytes = 4 * 1024 * 1024

/** Image types that models of all four formats accept. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']

/** Reads images from files, and returns messages about files that cannot be sent. */
export async function readImages(
  files: Iterable<File>,
): Promise<{ readonly images: readonly Image[]; readonly refused: readonly string[] }> {
  const images: Image[] = []
  const refused: string[] = []
  for (const file of files) {
    const wrong = wrongWith(file)
    if (wrong !== undefined) refused.push(wrong)
    else images.push({ name: file.name || 'Pasted image', type: file.type, data: await base64Of(file) })
  }
  return { images, refused }
}

function wrongWith({ name, type, size }: File): string | undefined {
  if (!imageTypes.includes(type)) return `“${name}” is no PNG, JPEG, WebP or GIF image.`
  if (size <= maxBytes) return undefined
  return `“${name}” has ${(size / 1024 / 1024).toFixed(1)} MB; an image may have 4 MB. Make it smaller first.`
}

const base64Of = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error ?? new Error('The file could not be read.'))
    reader.readAsDataURL(file)
  })
