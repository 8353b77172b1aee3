export default function Page() {
  return <p>The rest of your app.</p>
}
