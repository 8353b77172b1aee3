import { sizeText } from '../../parts/size-text.ts'
import type { AttachedFile, Image } from '../formats/format.ts'
import { dataUrl } from '../formats/read.ts'

/** Shows an image, or the name of another file. The content of old attachments may be missing. */
export function Attached({ file }: { file: Image | AttachedFile }) {
  const { name, type, data } = file
  if (data === '') return <span class="attached">{name} (not kept)</span>
  if (type.startsWith('image/')) return <img src={dataUrl(file)} alt={name} />
  return (
    <span class="attached">
      {name} <small>{`${type === 'application/pdf' ? 'PDF' : 'Audio'}, ${sizeText(data.length * 0.75)}`}</small>
    </span>
  )
}
