import type { AttachedFile, Image } from '../formats/format.ts'

/** Image types that models of all four formats accept. */
const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']

/** Other types, and the name under which they are sent: browsers have several names for one type. */
const fileTypes: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'application/pdf'],
  ['audio/wav', 'audio/wav'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['audio/vnd.wave', 'audio/wav'],
  ['audio/mpeg', 'audio/mpeg'],
  ['audio/mp3', 'audio/mpeg'],
])

export const attachmentTypes = [...imageTypes, ...fileTypes.keys()]

/** Limit in MB of one image. Base64 adds a third, and the smallest provider limit is 5 MB. */
const maxImage = 4
/** Limits in MB of one other file and of all files of a question. The smallest provider limit of a request is 20 MB, in base64. */
const maxFile = 10
const maxTotal = 14

export interface Attachments {
  readonly images: readonly Image[]
  readonly files: readonly AttachedFile[]
}

/** Reads attachments, adds them to earlier ones, and returns messages about files that cannot be sent. */
export async function readAttachments(
  given: Iterable<File>,
  earlier: Attachments,
): Promise<Attachments & { readonly refused: readonly string[] }> {
  const images = [...earlier.images]
  const files = [...earlier.files]
  const refused: string[] = []
  // Base64 has four characters for three bytes.
  let total = [...images, ...files].reduce((sum, { data }) => sum + data.length * 0.75, 0)
  for (const file of given) {
    const wrong = wrongWith(file, total)
    if (wrong !== undefined) {
      refused.push(wrong)
      continue
    }
    total += file.size
    const type = fileTypes.get(file.type)
    const read = { name: file.name || 'Pasted file', type: type ?? file.type, data: await base64Of(file) }
    if (type === undefined) images.push(read)
    else files.push(read)
  }
  return { images, files, refused }
}

const megabytes = (bytes: number): number => bytes / 1024 / 1024

function wrongWith({ name, type, size }: File, total: number): string | undefined {
  const isImage = imageTypes.includes(type)
  if (!isImage && !fileTypes.has(type))
    return `“${name}” is not a PNG, JPEG, WebP or GIF image, a PDF, or a WAV or MP3 audio file.`
  const limit = isImage ? maxImage : maxFile
  if (megabytes(size) > limit)
    return `“${name}” has ${megabytes(size).toFixed(1)} MB; the limit is ${limit} MB. Use a smaller file.`
  if (size === 0) return `“${name}” is empty.`
  if (megabytes(total + size) > maxTotal)
    return `“${name}” is too much: all attachments of a question may have ${maxTotal} MB together.`
  return undefined
}

const base64Of = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error ?? new Error('The file could not be read.'))
    reader.readAsDataURL(file)
  })
