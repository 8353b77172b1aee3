export default function Page() {
  return <p>The app goes on as before.</p>
}
