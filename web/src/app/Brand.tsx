export function Brand({ large = false }: { large?: boolean }) {
  return (
    <span className={`brand${large ? " large" : ""}`}>
      <img src={`${import.meta.env.BASE_URL}favicon.svg`} width={large ? 40 : 24} height={large ? 40 : 24} alt="" />
      <span>Roost</span>
    </span>
  );
}
